#include "src/app/rank_launcher.h"

#include <fmt/format.h>

#include <iterator>
#include <system_error>
#include <utility>

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// In other processes /proc/self/exe is another program.
fs::path real_path(const fs::path& program) {
  std::error_code failed;
  fs::path real = fs::read_symlink(program, failed);
  return failed ? program : fs::absolute(real);
}

}  // namespace

RankLauncher launcher_of(std::string_view text, Size ranks) {
  RankLauncher launcher{.command = {}, .ranks = ranks};
  for (;;) {
    const std::size_t mark = text.find(kRanksMark);
    launcher.command += text.substr(0, mark);
    if (mark == std::string_view::npos) return launcher;
    launcher.command += std::to_string(ranks);
    text.remove_prefix(mark + kRanksMark.size());
  }
}

ChildCommand launch(const RankLauncher& launcher, const fs::path& program,
                    std::vector<std::string> arguments) {
  ChildCommand command{.program = "/bin/sh",
                       .arguments = {"-c", fmt::format("exec {} \"$@\"", launcher.command), "sh",
                                     real_path(program).string()}};
  command.arguments.insert(command.arguments.end(), std::make_move_iterator(arguments.begin()),
                           std::make_move_iterator(arguments.end()));
  return command;
}

}  // namespace ptbench

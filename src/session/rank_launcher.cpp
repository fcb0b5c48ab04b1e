#include "src/session/rank_launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "reports/output_file.h"
#include "src/base/exit_code.h"
#include "src/base/install_paths.h"
#include "src/base/process_state.h"
#include "src/process/descriptor.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr std::chrono::milliseconds kLauncherLook{
    200};  // between two looks at who launched this process
constexpr std::chrono::seconds kLauncherGrace{30};  // to save, once they are gone

fs::path refusal_beside(const fs::path& output) { return output.string() + ".refusal"; }

}  // namespace

RankLauncher launcher_of(std::string_view text, Size ranks) {
  RankLauncher launcher{.ranks = ranks};
  for (;;) {
    const std::size_t mark = text.find(kRanksMark);
    launcher.command += text.substr(0, mark);
    if (mark == std::string_view::npos) return launcher;
    launcher.command += std::to_string(ranks);
    text.remove_prefix(mark + kRanksMark.size());
  }
}

std::string name_for_others(const fs::path& program) {
  return (program == kThisProgram ? executable_for_others() : program).string();
}

ChildCommand launch(const RankLauncher& launcher, const fs::path& program,
                    std::vector<std::string> arguments) {
  arguments.push_back(fmt::format("--launched-ranks={}", launcher.ranks));
  arguments.push_back(fmt::format("--launched-by={}", getpid()));
  ChildCommand command{
      .program = "/bin/sh",
      .arguments = {"-c", launcher.command + " \"$@\"", "sh", name_for_others(program)},
      .leads_group = true};
  command.arguments.insert(command.arguments.end(), std::make_move_iterator(arguments.begin()),
                           std::make_move_iterator(arguments.end()));
  return command;
}

void leave_refusal(const fs::path& output, const Error& refusal) {
  std::error_code ignored;
  if (!fs::exists(fs::absolute(output).parent_path(), ignored)) return;
  OutputFile file(refusal_beside(output));
  file.append(nlohmann::json({{"code", static_cast<int>(refusal.code())},
                              {"message", refusal.what()},
                              {"remedy", refusal.remedy()}})
                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  file.commit();
}

std::optional<Error> take_refusal(const fs::path& output) {
  const fs::path path = refusal_beside(output);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const nlohmann::json told = nlohmann::json::parse(file, nullptr, false);
  std::error_code ignored;
  fs::remove(path, ignored);
  if (!told.is_object()) return std::nullopt;
  return Error(static_cast<ExitCode>(told.value("code", static_cast<int>(ExitCode::usage))),
               told.value("message", ""), told.value("remedy", ""));
}

class LauncherWatch::State {
 public:
  explicit State(int starter)
      : starter_(is_ancestor(starter) || has_own_name(starter) ? watch_process(starter)
                                                               : Descriptor()),
        thread_([this](const std::stop_token& stop) { watch(stop); }) {}

 private:
  void watch(const std::stop_token& stop) {
    while (!is_alone())
      if (!pause(stop, kLauncherLook)) return;
    (void)kill(getpid(), SIGTERM);
    if (pause(stop, kLauncherGrace)) std::_Exit(static_cast<int>(ExitCode::interrupted));
  }

  [[nodiscard]] bool is_alone() const {
    pollfd starter{.fd = starter_.number(), .events = POLLIN, .revents = 0};
    return getppid() != launcher_ || (starter_.is_open() && poll(&starter, 1, 0) > 0);
  }

  /// False if it was asked to stop meanwhile.
  bool pause(const std::stop_token& stop, std::chrono::milliseconds duration) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, duration, [] { return false; });
    return !stop.stop_requested();
  }

  pid_t launcher_ = getppid();
  Descriptor starter_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

LauncherWatch::LauncherWatch(int starter) : state_(std::make_unique<State>(starter)) {}

LauncherWatch::~LauncherWatch() = default;

}  // namespace ptbench

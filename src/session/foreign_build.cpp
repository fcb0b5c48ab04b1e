#include "src/session/foreign_build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/process/child_process.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "give the path of a ptbench that was built";

/// What else can be run may do anything at all when it is called as ptbench is.
bool says_that_it_is_ptbench(const std::string& program) {
  constexpr auto kLongest = std::chrono::seconds(10);
  std::string output;
  ChildProcess process({.program = fs::absolute(program),
                        .arguments = {"--version"},
                        .on_output = [&](std::string_view text) { output += text; },
                        .on_errors = [](std::string_view) {}});
  process.end_within(kLongest);
  std::optional<ChildExit> ended;
  while (!ended) ended = process.wait(kLongest);
  return ended->code == 0 && output.starts_with("ptbench ");
}

}  // namespace

void require_ptbench(std::string_view option, const std::string& program) {
  std::error_code ignored;
  if (!fs::is_regular_file(program, ignored) || access(program.c_str(), X_OK) != 0)
    throw usage_error(
        fmt::format("--{} '{}' is not a program that can be run", option, printable(program)),
        kRemedy);
  if (!says_that_it_is_ptbench(program))
    throw usage_error(fmt::format("--{} '{}' is not a ptbench: it does not say so with --version",
                                  option, printable(program)),
                      kRemedy);
}

GeneratorRecord unknown_build() { return {.name = "ptbench", .version = "unknown"}; }

}  // namespace ptbench

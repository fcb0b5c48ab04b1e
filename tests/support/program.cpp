#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view name_of_variable(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

/// This process's variables with `changes` in place of those of the same name: of two, getenv finds
/// the first and the loader takes the last.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::ranges::find(changes, name_of_variable(*variable), name_of_variable) == changes.end())
      result.emplace_back(*variable);
  return result;
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int wait_for(pid_t child, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& command,
                          const ProgramSettings& settings) {
  const TemporaryDirectory directory;
  const std::filesystem::path errors = directory.path() / "errors";
  const std::filesystem::path output =
      settings.output.empty() ? directory.path() / "output" : settings.output;
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environment_with(settings.environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, settings.folder.c_str());
  pid_t child = 0;
  const int failed = posix_spawn(&child, command.front().c_str(), &actions, nullptr,
                                 pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + command.front());

  const int status = wait_for(child, settings.deadline);
  ProgramResult result;
  if (WIFEXITED(status))
    result.exit_code = WEXITSTATUS(status);
  else
    result.signal = WTERMSIG(status);
  if (settings.output.empty()) result.output = contents_of(output);
  result.errors = contents_of(errors);
  return result;
}

}  // namespace ptbench::testing

#include "tests/support/terminal.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace ptbench::testing {
namespace {

std::vector<char*> argument_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What is written until all who write have closed the terminal, or the deadline is over.
std::string read_all(int terminal, std::chrono::steady_clock::time_point end) {
  std::string text;
  std::array<char, 4096> piece{};
  while (std::chrono::steady_clock::now() < end) {
    pollfd readable{.fd = terminal, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, 100) <= 0) continue;
    const ssize_t count = read(terminal, piece.data(), piece.size());
    if (count <= 0) break;  // EIO: nobody has it open
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// The status of a process, which is killed once the deadline is over.
int wait_for(pid_t child, std::chrono::steady_clock::time_point end) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

/// Behind the last sequence that cleared a line, without those for colour.
std::string left_of(std::string line) {
  constexpr std::string_view kClear = "\x1b[K";
  if (line.ends_with('\r')) line.pop_back();
  if (const std::size_t cleared = line.rfind(kClear); cleared != std::string::npos)
    line.erase(0, cleared + kClear.size());
  for (std::size_t begin = line.find('\x1b'); begin != std::string::npos;
       begin = line.find('\x1b', begin))
    line.erase(begin, line.find('m', begin) - begin + 1);
  return line;
}

}  // namespace

TerminalResult run_on_terminal(const std::vector<std::string>& command, unsigned short columns,
                               const ProgramSettings& settings) {
  std::vector<std::string> words = command;
  std::vector<std::string> variables = settings.environment;
  variables.emplace_back("TERM=xterm");
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  const std::vector<char*> arguments = argument_pointers(words);
  const std::vector<char*> environment = argument_pointers(variables);
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 24;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::runtime_error("there is no terminal to be had");
  if (child == 0) {
    if (chdir(settings.folder.c_str()) == 0)
      execve(arguments.front(), arguments.data(), environment.data());
    _exit(127);
  }
  TerminalResult result;
  const auto end = std::chrono::steady_clock::now() + settings.deadline;
  result.shown = read_all(terminal, end);
  const int status = wait_for(child, end);
  close(terminal);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::vector<std::string> lines_left(const std::string& shown) {
  std::vector<std::string> lines;
  std::istringstream stream(shown);
  for (std::string line; std::getline(stream, line);) lines.push_back(left_of(line));
  return lines;
}

}  // namespace ptbench::testing

#include "src/base/process_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/interrupt_signals.h"

namespace ptbench {
namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t ticks_of(clockid_t clock) {
  constexpr std::uint64_t kNanosecondsPerTick = 1'000'000'000 / kTicksPerSecond;
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * kTicksPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec) / kNanosecondsPerTick;
}

/// Of a process; 0 where that is not known.
int parent_of(int id) {
  const std::string stat = contents_of(fmt::format("/proc/{}/stat", id));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char letter = '?';
  int parent = 0;
  rest >> letter >> parent;
  return parent;
}

/// Whether the process was started with it (proc_pid_environ(5)).
bool was_given(int id, std::string_view variable) {
  const std::string environment = '\0' + contents_of(fmt::format("/proc/{}/environ", id));
  return environment.find(fmt::format("{}{}=", '\0', variable)) != std::string::npos;
}

}  // namespace

ProcessState state_in(const std::filesystem::path& folder) {
  const std::string stat = contents_of(folder / "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  ProcessState state;
  std::string skipped;
  rest >> state.letter;
  for (int field = 4; field < 14; ++field) rest >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  rest >> user >> system;
  state.cpu_ticks = user + system;
  return state;
}

ProcessState process_state(int id) { return state_in(fmt::format("/proc/{}", id)); }

ProcessState state_beside_this_thread() {
  ProcessState state = process_state(getpid());
  const std::uint64_t own = ticks_of(CLOCK_THREAD_CPUTIME_ID);
  state.cpu_ticks = std::max(ticks_of(CLOCK_PROCESS_CPUTIME_ID), own) - own;
  return state;
}

bool has_interruption_pending(int id) {
  constexpr std::string_view kPending = "ShdPnd:";
  const std::string status = contents_of(fmt::format("/proc/{}/status", id));
  const std::size_t at = status.find(kPending);
  if (at == std::string::npos) return false;
  const auto set = std::strtoull(status.c_str() + at + kPending.size(), nullptr, 16);
  return std::ranges::any_of(kInterruptSignals,
                             [set](int signal) { return (set >> (signal - 1) & 1U) != 0; });
}

int nearest_ancestor_without(std::string_view variable) {
  int ancestor = getppid();
  if (!can_see_processes()) return ancestor;
  while (ancestor > 1 && was_given(ancestor, variable)) ancestor = parent_of(ancestor);
  return ancestor;
}

bool is_ancestor(int id) {
  int ancestor = getppid();
  while (ancestor > 1 && ancestor != id) ancestor = parent_of(ancestor);
  return ancestor == id;
}

bool has_own_name(int id) {
  const auto name_in = [](const std::string& folder) {
    std::ifstream file("/proc/" + folder + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
  };
  const std::string own = name_in("self");
  return !own.empty() && name_in(std::to_string(id)) == own;
}

bool can_see_processes() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(getpid());
}

}  // namespace ptbench

#include "src/comm/pulse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/interrupt_signals.h"

namespace ptbench {
namespace {

// Who waits wakes up now and then, which takes some 0.1 % of a core.
constexpr double kIdleShare = 0.002;
constexpr std::uint64_t kTicksPerSecond = 100;  // of /proc, on every Linux

std::string contents_of(const std::string& path) {
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

}  // namespace

ProcessState process_state(int id) {
  const std::string stat = contents_of(fmt::format("/proc/{}/stat", id));
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

bool can_see_processes() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(getpid());
}

void Pulse::feel(const ProcessState& state, std::uint64_t worked, Duration interval) {
  interval = std::min(interval, kLongestLook);
  stopped_ = state.letter == 'T' ? stopped_ + interval : Duration(0);
  silent_ += interval;
  const double idle = 1 + kIdleShare * static_cast<double>(kTicksPerSecond) *
                              std::chrono::duration<double>(silent_).count();
  // The difference of two clocks may shrink by a tick.
  const bool computes =
      state.cpu_ticks > cpu_ticks_ && static_cast<double>(state.cpu_ticks - cpu_ticks_) > idle;
  const bool may_work = state.letter == 'D' || state.letter == '?';
  if (worked == worked_ && !computes && !may_work) return;
  silent_ = {};
  worked_ = worked;
  cpu_ticks_ = state.cpu_ticks;
}

}  // namespace ptbench

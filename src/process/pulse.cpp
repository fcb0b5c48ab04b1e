#include "src/process/pulse.h"

#include <algorithm>

namespace ptbench {
namespace {

// Who waits wakes up now and then, which takes some 0.1 % of a core.
constexpr double kIdleShare = 0.002;

}  // namespace

void Pulse::feel(const ProcessState& state, std::uint64_t worked, Duration interval) {
  interval = std::min(interval, kLongestLook);
  stopped_ = state.is_stopped() ? stopped_ + interval : Duration(0);
  silent_ += interval;
  const double idle = 1 + kIdleShare * static_cast<double>(kTicksPerSecond) *
                              std::chrono::duration<double>(silent_).count();
  // The difference of two clocks may shrink by a tick.
  const bool computes =
      state.cpu_ticks > cpu_ticks_ && static_cast<double>(state.cpu_ticks - cpu_ticks_) > idle;
  const bool may_work = state.waits_for_disk() || !state.is_known();
  if (worked == worked_ && !computes && !may_work) return;
  silent_ = {};
  worked_ = worked;
  cpu_ticks_ = state.cpu_ticks;
}

}  // namespace ptbench

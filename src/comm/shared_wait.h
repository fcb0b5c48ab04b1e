#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "src/comm/shared_region.h"
#include "src/device/futex.h"

namespace ptbench {

/// A time limit that begins when waiting turns out to take long, so that short waits read no clock.
class LazyDeadline {
 public:
  explicit LazyDeadline(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
  /// Not positive once it has passed.
  [[nodiscard]] std::chrono::nanoseconds remaining() {
    const auto now = std::chrono::steady_clock::now();
    if (!begin_) begin_ = now;
    return timeout_ - (now - *begin_);
  }

 private:
  std::chrono::milliseconds timeout_;
  std::optional<std::chrono::steady_clock::time_point> begin_;
};

enum class WaitEnd : std::uint8_t { held, given_up, late };

namespace shared {

// About 50 µs: longer than ranks that compute the same differ by, shorter than a scheduler tick.
inline constexpr int kSpins = 2000;
// Where another rank may need this core.
inline constexpr int kYields = 32;
// No sleep is longer, so that a wake that was lost with the process that owed it costs no more.
inline constexpr std::chrono::milliseconds kLongestSleep{100};

inline bool is_given_up(const Header& header) {
  return header.surrender.state.load(std::memory_order_seq_cst) == Surrender::told;
}

/// Sleeps until the bell rings, unless `holds` already. The order of the total order: the sleeper
/// counts itself and then looks; who changes something does so and then looks for sleepers.
template <class Condition>
void sleep_unless(Header& header, std::chrono::nanoseconds limit, const Condition& holds) {
  header.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t bell = header.bell.load(std::memory_order_seq_cst);
  if (!holds() && !is_given_up(header))
    futex_wait(header.bell, bell, std::min<std::chrono::nanoseconds>(limit, kLongestSleep));
  header.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

/// Waits for `holds`, which loads what it looks at sequentially consistent: spins, or gives way
/// where ranks share cores, and then sleeps.
template <class Condition>
[[nodiscard]] WaitEnd await(Header& header, LazyDeadline& deadline, const Condition& holds) {
  const bool crowded = header.world_size > header.cores;
  for (int turn = 0; turn < (crowded ? kYields : kSpins); ++turn) {
    if (holds()) return WaitEnd::held;
    if (crowded)
      sched_yield();
    else
      cpu_relax();
  }
  for (;;) {
    if (holds()) return WaitEnd::held;
    if (is_given_up(header)) return WaitEnd::given_up;
    const std::chrono::nanoseconds remaining = deadline.remaining();
    if (remaining <= std::chrono::nanoseconds(0)) return WaitEnd::late;
    sleep_unless(header, remaining, holds);
  }
}

}  // namespace shared

}  // namespace ptbench

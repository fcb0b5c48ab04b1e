#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "src/base/clock.h"
#include "src/comm/shared_region.h"
#include "src/device/futex.h"

namespace ptbench {

/// A time limit that begins when waiting turns out to take long, so that short waits read no clock.
class LazyDeadline {
 public:
  /// `clock` outlives the deadline.
  LazyDeadline(std::chrono::milliseconds timeout, const Clock& clock)
      : timeout_(timeout), clock_(clock) {}

  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }

  /// How long to sleep before the next look, at most `longest`; zero once the time is over. A rank
  /// that comes back much later was itself stopped, or busy: of that time only the sleep that it
  /// wanted counts, and the others get one more look before they are blamed.
  [[nodiscard]] std::chrono::nanoseconds nap(std::chrono::nanoseconds longest) {
    const Seconds now{clock_.now()};
    const Seconds passed = has_looked_ ? now - last_look_ : Seconds(0);
    const bool overslept = passed > nap_ + kMostOverslept;
    last_look_ = now;
    has_looked_ = true;
    waited_ += overslept ? nap_ : passed;
    Seconds left = timeout_ - waited_;
    if (left <= Seconds(0) && overslept && !std::exchange(excused_, true)) left = longest;
    nap_ = std::clamp<Seconds>(left, Seconds(0), longest);
    return std::chrono::ceil<std::chrono::nanoseconds>(nap_);
  }

 private:
  using Seconds = std::chrono::duration<double>;
  // More than a busy machine lets a thread wait for a core.
  static constexpr Seconds kMostOverslept{1};

  std::chrono::milliseconds timeout_;
  const Clock& clock_;
  Seconds last_look_{0};
  Seconds nap_{0};     ///< that was allowed at the last look
  Seconds waited_{0};  ///< until the last look
  bool has_looked_ = false;
  bool excused_ = false;
};

enum class WaitEnd : std::uint8_t { held, given_up, late };

namespace shared {

// About 50 µs: longer than ranks that compute the same differ by, shorter than a scheduler tick.
inline constexpr int kSpins = 2000;
// Where another rank may need this core.
inline constexpr int kYields = 32;

inline bool is_given_up(const Header& header) {
  return header.surrender.state.load(std::memory_order_seq_cst) == Surrender::told;
}

/// A rank that waits for `change` to make a condition hold.
struct Waiter {
  Header& header;
  RankBlock& own;
  Change change;
};

/// Sleeps until the rank's bell rings, unless `holds` already. The order of the total order: the
/// sleeper says what it sleeps for, counts itself and then looks; who changes something does so,
/// then looks for sleepers, and rings where its change was the last that was missing.
template <class Condition>
void sleep_unless(const Waiter& waiter, std::chrono::nanoseconds limit, const Condition& holds) {
  waiter.own.sleeps_for.store(waiter.change, std::memory_order_seq_cst);
  waiter.header.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t bell = waiter.own.bell.load(std::memory_order_seq_cst);
  if (!holds() && !is_given_up(waiter.header)) futex_wait(waiter.own.bell, bell, limit);
  waiter.header.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  waiter.own.sleeps_for.store(Change::none, std::memory_order_seq_cst);
}

/// Waits for `holds`, which loads what it looks at sequentially consistent: spins, or gives way
/// where ranks share cores, and then sleeps.
template <class Condition>
[[nodiscard]] WaitEnd await(const Waiter& waiter, LazyDeadline& deadline, const Condition& holds) {
  const bool crowded = waiter.header.is_crowded;
  for (int turn = 0; turn < (crowded ? kYields : kSpins); ++turn) {
    if (holds()) return WaitEnd::held;
    if (crowded)
      sched_yield();
    else
      cpu_relax();
  }
  for (;;) {
    if (holds()) return WaitEnd::held;
    if (is_given_up(waiter.header)) return WaitEnd::given_up;
    const std::chrono::nanoseconds nap = deadline.nap(waiter.header.longest_nap);
    if (nap <= std::chrono::nanoseconds(0)) return WaitEnd::late;
    sleep_unless(waiter, nap, holds);
  }
}

}  // namespace shared

}  // namespace ptbench

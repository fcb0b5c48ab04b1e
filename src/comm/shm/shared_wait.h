#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/base/clock.h"
#include "src/comm/shm/shared_layout.h"
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

inline void ring_bell(RankBlock& block) {
  block.bell.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(block.bell);
}

/// Sets of Change, by channel.
using SleepsFor = std::array<std::uint32_t, kChannels>;

/// What a rank does while it waits for something else.
class Chores {
 public:
  virtual ~Chores() = default;
  /// Does what needs no waiting. Whether there was anything.
  virtual bool advance() = 0;
  /// Adds the changes by which there may be more to do.
  virtual void add_changes(SleepsFor& sleeps_for) const = 0;
};

/// A rank that waits for `change` to make a condition hold.
struct Waiter {
  Header& header;
  RankBlock& own;
  Change change = Change::none;
  std::size_t channel = kDataChannel;
  Chores* chores = nullptr;  ///< null: none
};

/// While it lives, others ring the rank's bell when they make one of these changes.
class Sleep {
 public:
  Sleep(Header& header, RankBlock& own, const SleepsFor& sleeps_for)
      : header_(header), own_(own), sleeps_for_(sleeps_for) {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      if (sleeps_for_.at(channel) == 0) continue;
      own_.sleeps_for.at(channel).store(sleeps_for_.at(channel), std::memory_order_seq_cst);
      header_.sleepers.at(channel).count.fetch_add(1, std::memory_order_seq_cst);
    }
  }
  ~Sleep() {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      if (sleeps_for_.at(channel) == 0) continue;
      header_.sleepers.at(channel).count.fetch_sub(1, std::memory_order_seq_cst);
      own_.sleeps_for.at(channel).store(0, std::memory_order_seq_cst);
    }
  }
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;

 private:
  Header& header_;
  RankBlock& own_;
  SleepsFor sleeps_for_;
};

/// Sleeps until the rank's bell rings, unless `holds` already or there is something to do. The
/// order of the total order: the sleeper says what it sleeps for, counts itself and then looks; who
/// changes something does so, then looks for sleepers, and rings where its change was the last that
/// was missing.
template <class Condition>
void sleep_unless(const Waiter& waiter, std::chrono::nanoseconds limit, const Condition& holds) {
  SleepsFor sleeps_for{};
  sleeps_for.at(waiter.channel) = static_cast<std::uint32_t>(waiter.change);
  if (waiter.chores != nullptr) waiter.chores->add_changes(sleeps_for);
  const Sleep sleep(waiter.header, waiter.own, sleeps_for);
  const std::uint32_t bell = waiter.own.bell.load(std::memory_order_seq_cst);
  if (holds() || is_given_up(waiter.header)) return;
  if (waiter.chores != nullptr && waiter.chores->advance()) return;
  futex_wait(waiter.own.bell, bell, limit);
}

/// Waits for `holds`, which loads what it looks at sequentially consistent: spins, or gives way
/// where ranks share cores, and then sleeps. Does chores meanwhile.
template <class Condition>
[[nodiscard]] WaitEnd await(const Waiter& waiter, LazyDeadline& deadline, const Condition& holds) {
  const bool crowded = waiter.header.is_crowded;
  for (int turn = 0; turn < (crowded ? kYields : kSpins); ++turn) {
    if (holds()) return WaitEnd::held;
    if (waiter.chores != nullptr) (void)waiter.chores->advance();
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

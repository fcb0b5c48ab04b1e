#pragma once

#include <chrono>

namespace ptbench {

/// Where durations come from. An interface, so that tests of statistics and stop rules need no
/// real time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since some fixed moment; never goes back.
  [[nodiscard]] virtual double now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] double now() const override {
    static_assert(std::chrono::steady_clock::is_steady);
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

/// Wall clock: seconds since 1970 began, UTC. It may be set back; for durations there is `Clock`.
[[nodiscard]] inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ptbench

#pragma once

#include <chrono>
#include <optional>

namespace ptbench {

/// Cycles per second of the core that the calling thread runs on, as it runs now: the best of five
/// chains of dependent integer additions, of one cycle each. Takes 0.1 ms or so. What a hypervisor
/// or a busy neighbour takes away is not seen; what power, heat and wide vector units do is.
[[nodiscard]] double effective_frequency();

/// What is seen of it in passing, while steps are measured: the best of as many chains as it takes
/// until the best two agree within 1 %, mostly two, in 40 µs. Empty where five do not: somebody
/// else had the core.
[[nodiscard]] std::optional<double> glanced_frequency();
/// The mean of such glances.
class ClockGlances {
 public:
  void glance();
  /// In hertz, of the glances since the last call; empty where none saw anything.
  [[nodiscard]] std::optional<double> take_mean();

 private:
  double sum_ = 0;  ///< in hertz
  double count_ = 0;
};
/// Boosted clocks change within tenths of a second; so often, glances take 0.1 % of a core's time.
inline constexpr std::chrono::milliseconds kBetweenGlances{40};

}  // namespace ptbench

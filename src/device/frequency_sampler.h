#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "src/device/frequency.h"

namespace ptbench {

/// Glances at the clock of cores while something else computes on them. Boosted clocks change by
/// several per cent within tenths of a second, which looks at both ends of a slice do not see.
///
/// A glance is 40 µs every 40 ms, wherever the kernel puts it, which is on an idle core if there is
/// one: 0.1 % of a core, and nobody is moved. Cores of one chip mostly share what clock they have.
class FrequencySampler {
 public:
  /// Begins to glance, in a thread of its own; what was seen before is forgotten.
  void begin();
  /// Ends it, and returns the mean of the glances since, in hertz; empty where there was none.
  [[nodiscard]] std::optional<double> end();

 private:
  void glance(const std::stop_token& stop);

  ClockGlances seen_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace ptbench

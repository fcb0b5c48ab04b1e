#pragma once

#include "src/base/clock.h"

namespace ptbench {

/// Makes work last `factor` times as long, by spinning; without a clock, as long as it does. The
/// work begins with the drag.
class Drag {
 public:
  /// The clock outlives the drag.
  Drag(const Clock* clock, double factor) : clock_(clock), factor_(factor) { begin(); }

  /// Work goes on.
  void begin() {
    if (clock_ != nullptr) begin_ = clock_->now();
  }
  /// When it last went on, by the clock; 0 without one.
  [[nodiscard]] double begun() const { return begin_; }
  /// It pauses or ends. Returns when, by the clock; 0 without one.
  double end() const {
    if (clock_ == nullptr) return 0;
    double now = clock_->now();
    const double end = begin_ + (now - begin_) * factor_;
    while (now < end) now = clock_->now();
    return now;
  }

 private:
  const Clock* clock_;
  double factor_;
  double begin_ = 0;
};

}  // namespace ptbench

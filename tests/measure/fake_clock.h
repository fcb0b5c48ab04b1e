#pragma once

#include "src/base/clock.h"

namespace ptbench::testing {

/// Time that passes only when the test says so; steps are faked by letting some of it pass.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] double now() const override { return now_; }
  void pass(double seconds) { now_ += seconds; }

 private:
  double now_ = 1000;  // not 0: only differences may matter
};

}  // namespace ptbench::testing

#pragma once

#include <chrono>

#include "src/base/process_state.h"
#include "src/process/child_process.h"
#include "src/process/pulse.h"

namespace ptbench {

/// Notices that a process was stopped for too long. Time for which this one was stopped as well
/// does not count.
class StopLimit {
 public:
  explicit StopLimit(ChildProcess::Duration longest) : longest_(longest) {}

  /// Asked again and again.
  [[nodiscard]] bool is_exceeded_by(const ChildProcess& process) {
    const auto now = std::chrono::steady_clock::now();
    const auto interval = std::chrono::floor<ChildProcess::Duration>(now - last_look_);
    if (interval < Pulse::kCheckUp) return false;
    last_look_ = now;
    pulse_.feel(process_state(process.id()), 0, interval);
    return pulse_.stopped() >= longest_;
  }

 private:
  ChildProcess::Duration longest_;
  Pulse pulse_;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

}  // namespace ptbench

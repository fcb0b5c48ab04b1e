#pragma once

#include <cudnn_graph.h>

#include <stdexcept>
#include <string>

namespace ptbench::emulator {

/// Thrown where a call is to end with a status, and why.
class Refusal : public std::runtime_error {
 public:
  Refusal(cudnnStatus_t status, const std::string& why, bool is_remarked = true)
      : std::runtime_error(why), status_(status), is_remarked_(is_remarked) {}
  [[nodiscard]] cudnnStatus_t status() const { return status_; }
  /// Whether it is told on standard error: not where the emulation refuses on purpose.
  [[nodiscard]] bool is_remarked() const { return is_remarked_; }

 private:
  cudnnStatus_t status_;
  bool is_remarked_;
};

/// What the emulation does not do.
[[noreturn]] inline void not_supported(const std::string& what) {
  throw Refusal(CUDNN_STATUS_NOT_SUPPORTED, what);
}
[[noreturn]] inline void bad_parameter(const std::string& what) {
  throw Refusal(CUDNN_STATUS_BAD_PARAM, what);
}

}  // namespace ptbench::emulator

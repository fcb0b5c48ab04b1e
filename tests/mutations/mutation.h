#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "kernels/backend.h"
#include "src/comm/communicator.h"

namespace ptbench::testing {

/// Whether the fault `name` is planted: PTBENCH_MUTATION lists those that are, separated by commas.
/// The ranks of a run inherit it.
[[nodiscard]] inline bool mutated(std::string_view name) {
  static const std::string planted = [] {
    const char* const names = std::getenv("PTBENCH_MUTATION");
    return std::string(",") + (names == nullptr ? "" : names) + ',';
  }();
  const std::size_t found = planted.find(name);
  return found != std::string::npos && planted[found - 1] == ',' &&
         planted[found + name.size()] == ',';
}

/// What an optimizer is made for in the place of `spec`.
[[nodiscard]] inline OptimizerSpec mutated_rule(OptimizerSpec spec) {
  if (mutated("learning-rate-5-percent-high")) spec.lr *= 1.05;
  if (mutated("momentum-0.89")) {
    spec.momentum *= 0.89 / 0.9;
    spec.beta1 *= 0.89 / 0.9;
  }
  if (mutated("momentum-0")) spec.beta1 = 0;
  if (mutated("second-beta-0.99")) spec.beta2 = 0.99;
  if (mutated("weight-decay-ignored")) spec.weight_decay = 0;
  return spec;
}

/// What lies in the memory of a CPU.
[[nodiscard]] inline std::span<float> floats_of(const Values& values) {
  return {reinterpret_cast<float*>(values.bytes.data()), values.bytes.size() / sizeof(float)};
}

}  // namespace ptbench::testing

namespace ptbench {
using testing::floats_of;  // NOLINT(google-global-names-in-headers): for the mutated sources alone
using testing::mutated;    // NOLINT(google-global-names-in-headers): for the mutated sources alone
}  // namespace ptbench

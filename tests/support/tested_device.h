#pragma once

#include <optional>
#include <string>

#include "kernels/site.h"

namespace ptbench::testing {

/// The engine's device on which the contract suites are to run, in place of the CPU and the doubles
/// ("cuda:0"), from the variable PTBENCH_TEST_DEVICE; empty where the variable is.
[[nodiscard]] std::optional<std::string> tested_device();

/// A site of that device, from the module that was built beside the tests.
[[nodiscard]] Site open_tested_site();

/// A site of a CUDA device, from that module.
[[nodiscard]] Site open_cuda_site(const std::string& device = "cuda:0");

}  // namespace ptbench::testing

#pragma once

#include <vector>

#include "kernels/operator.h"

namespace ptbench::testing {

/// Linear layers that cross every edge: one of a kind, less and more than a vector, not a multiple
/// of anything, the workloads' own widths; with and without a rectifier, first and later layers.
[[nodiscard]] inline std::vector<LinearSpec> linear_specs() {
  return {
      {.batch = 1, .inputs = 1, .outputs = 1},
      {.batch = 1, .inputs = 10, .outputs = 2, .relu = true, .input_gradient = false},
      {.batch = 1, .inputs = 784, .outputs = 13, .relu = true},
      {.batch = 3, .inputs = 10, .outputs = 2, .input_gradient = false},
      {.batch = 3, .inputs = 64, .outputs = 512, .relu = true, .input_gradient = false},
      {.batch = 7, .inputs = 17, .outputs = 13, .relu = true},
      {.batch = 7, .inputs = 17, .outputs = 1024, .input_gradient = false},
      {.batch = 32, .inputs = 10, .outputs = 2, .input_gradient = false},
      {.batch = 33, .inputs = 1, .outputs = 512, .relu = true},
      {.batch = 33, .inputs = 64, .outputs = 10},
      {.batch = 33, .inputs = 784, .outputs = 128, .relu = true},
      {.batch = 128, .inputs = 10, .outputs = 1},
      {.batch = 128, .inputs = 17, .outputs = 2, .relu = true},
      {.batch = 128, .inputs = 64, .outputs = 1024, .relu = true, .input_gradient = false},
      {.batch = 128, .inputs = 512, .outputs = 10},
  };
}

[[nodiscard]] inline std::vector<ReluSpec> relu_specs() {
  return {{.elements = 1},
          {.elements = 17},
          {.elements = 1000, .input_gradient = false},
          {.elements = 70'001}};
}

[[nodiscard]] inline std::vector<SoftmaxCrossEntropySpec> loss_specs() {
  return {{.batch = 1, .classes = 2, .global_batch = 1},
          {.batch = 3, .classes = 10, .global_batch = 3},
          {.batch = 7, .classes = 1, .global_batch = 7},
          {.batch = 33, .classes = 13, .global_batch = 100},
          {.batch = 128, .classes = 10, .global_batch = 128},
          {.batch = 64, .classes = 1000, .global_batch = 128}};
}

/// Operators whose results are exact when their inputs are small integers.
[[nodiscard]] inline std::vector<OperatorSpec> exact_specs() {
  std::vector<OperatorSpec> specs;
  for (const LinearSpec& spec : linear_specs()) specs.emplace_back(spec);
  for (const ReluSpec& spec : relu_specs()) specs.emplace_back(spec);
  return specs;
}

/// Every operator.
[[nodiscard]] inline std::vector<OperatorSpec> contract_specs() {
  std::vector<OperatorSpec> specs = exact_specs();
  for (const SoftmaxCrossEntropySpec& spec : loss_specs()) specs.emplace_back(spec);
  return specs;
}

}  // namespace ptbench::testing

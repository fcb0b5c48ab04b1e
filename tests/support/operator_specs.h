#pragma once

#include <vector>

#include "kernels/spec.h"

// Operators that cross every edge: sizes of one, less and more than a vector or a block of 16
// channels, multiples of nothing, fewer samples than threads; first and later layers; both types.
namespace ptbench::testing {

/// With the workloads' own widths.
[[nodiscard]] std::vector<LinearSpec> linear_specs();
/// Windows of one pixel, larger and smaller than their strides, not square, that do not divide the
/// image, padded more than they need.
[[nodiscard]] std::vector<Conv2dSpec> conv2d_specs();
[[nodiscard]] std::vector<BatchNormSpec> batch_norm_specs();
[[nodiscard]] std::vector<ReluSpec> relu_specs();
[[nodiscard]] std::vector<GeluSpec> gelu_specs();
[[nodiscard]] std::vector<AddSpec> add_specs();
[[nodiscard]] std::vector<ForkSpec> fork_specs();
/// Windows that overlap, that leave gaps, that do not divide the image, of the whole image.
[[nodiscard]] std::vector<PoolSpec> pool_specs();
/// Every pair of formats and of types, images to rows and back.
[[nodiscard]] std::vector<ReorderSpec> reorder_specs();
[[nodiscard]] std::vector<SoftmaxCrossEntropySpec> loss_specs();

/// Operators whose results are exact when their inputs are small integers.
[[nodiscard]] std::vector<OperatorSpec> exact_specs();
/// Every operator.
[[nodiscard]] std::vector<OperatorSpec> contract_specs();

/// The type that an operator computes with.
[[nodiscard]] ElementType type_of(const OperatorSpec& spec);

}  // namespace ptbench::testing

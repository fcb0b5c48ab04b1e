#pragma once

#include <cstddef>

#include "kernels/cpu/pair_products.h"
#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// Convolutions of bf16 images with 3×3 windows of stride 1 by Winograd's minimal filtering
// F(2×2, 3×3), on one thread (Lavin and Gray, "Fast algorithms for convolutional neural networks",
// 2016): 16 multiplications for 4 outputs instead of 36. Images are native; the transforms are
// additions in f32, whose results are rounded to bf16 once, as operands of products with f32 sums,
// by AVX512_BF16 dot products or others that are given. Weights and their gradients are f32 in
// blocks of outputs/16 × inputs/16 × 3 × 3 × 16 inputs × 16 outputs, padded with zeros. Specs have
// bf16, native inputs, no bias, and paddings up to 2.
namespace ptbench {

/// Whether this machine has the instructions.
[[nodiscard]] bool has_winograd_bf16();

/// Memory for intermediate results of each pass, aligned to 64 bytes when used.
[[nodiscard]] Bytes winograd_bf16_forward_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_bf16_data_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_bf16_weights_scratch(const Conv2dSpec& spec);

/// y from x and W.
void winograd_bf16_forward(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                           const Bf16* x, const float* weights, Bf16* y, std::byte* scratch);
/// The gradient of x from that of y and W.
void winograd_bf16_data(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                        const Bf16* y_gradient, const float* weights, Bf16* x_gradient,
                        std::byte* scratch);
/// The gradient of W from x and the gradient of y.
void winograd_bf16_weights(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                           const Bf16* x, const Bf16* y_gradient, float* weight_gradient,
                           std::byte* scratch);

}  // namespace ptbench

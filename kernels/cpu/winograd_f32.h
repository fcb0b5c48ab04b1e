#pragma once

#include <cstddef>

#include "kernels/spec.h"
#include "src/base/size.h"

// Convolutions of f32 images with 3×3 windows of stride 1 by Winograd's minimal filtering
// F(4×4, 3×3), on one thread (winograd_f32_transforms.h): 36 multiplications for 16 outputs instead
// of 144. Images are native, in blocks of channels. Weights and their gradients are in blocks of
// outputs/16 × inputs/16 × 3 × 3 × 16 inputs × 16 outputs, padded with zeros. Specs have f32,
// native inputs, and paddings up to 2.
namespace ptbench {

/// Whether this process may use the instructions (x86-64-v4).
[[nodiscard]] bool has_winograd_f32();

/// Memory for intermediate results of each pass, aligned to 64 bytes when used.
[[nodiscard]] Bytes winograd_f32_forward_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_f32_data_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_f32_weights_scratch(const Conv2dSpec& spec);

/// y from x, W and, where the spec has them, the biases; added to y where the spec adds.
void winograd_f32_forward(const Conv2dSpec& spec, const float* x, const float* weights,
                          const float* bias, float* y, std::byte* scratch);
/// The gradient of x from that of y and W.
void winograd_f32_data(const Conv2dSpec& spec, const float* y_gradient, const float* weights,
                       float* x_gradient, std::byte* scratch);
/// The gradients of W and, where the spec has them, of the biases from x and the gradient of y.
void winograd_f32_weights(const Conv2dSpec& spec, const float* x, const float* y_gradient,
                          float* weight_gradient, float* bias_gradient, std::byte* scratch);

}  // namespace ptbench

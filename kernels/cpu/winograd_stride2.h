#pragma once

#include <cstddef>

#include "kernels/spec.h"
#include "src/base/size.h"

// Convolutions of f32 images with 3×3 windows of stride 2 and padding 1 by minimal filtering, on
// one thread (winograd_stride2_transforms.h): 81 multiplications for 16 outputs instead of 144.
// Images and weights lie as winograd_f32.h says, and has_winograd_f32() tells whether this process
// may use the instructions.
namespace ptbench {

/// Memory for intermediate results of each pass, aligned to 64 bytes when used.
[[nodiscard]] Bytes winograd_stride2_forward_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_stride2_data_scratch(const Conv2dSpec& spec);
[[nodiscard]] Bytes winograd_stride2_weights_scratch(const Conv2dSpec& spec);

/// y from x, W and, where the spec has them, the biases; added to y where the spec adds.
void winograd_stride2_forward(const Conv2dSpec& spec, const float* x, const float* weights,
                              const float* bias, float* y, std::byte* scratch);
/// The gradient of x from that of y and W.
void winograd_stride2_data(const Conv2dSpec& spec, const float* y_gradient, const float* weights,
                           float* x_gradient, std::byte* scratch);
/// The gradients of W and, where the spec has them, of the biases from x and the gradient of y.
void winograd_stride2_weights(const Conv2dSpec& spec, const float* x, const float* y_gradient,
                              float* weight_gradient, float* bias_gradient, std::byte* scratch);

}  // namespace ptbench

#pragma once

#include <memory>

#include "kernels/cpu/onednn.h"

namespace ptbench {

/// A convolution as a matrix product over unfolded images ("im2col"), sample by sample, on one
/// thread: for shapes, strides and paddings that no other kernel takes. Products and sums are f32;
/// weights lie row-major; a forward pass that adds finds the addend in the output, and the caller
/// rectifies. Works for every shape.
[[nodiscard]] std::shared_ptr<const onednn::PassPlan> plan_gemm_convolution(const Conv2dSpec& shape,
                                                                            onednn::Pass pass);

}  // namespace ptbench

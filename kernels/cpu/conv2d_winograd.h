#pragma once

#include <memory>

#include "kernels/cpu/onednn.h"

namespace ptbench {

/// A convolution of bf16 images by Winograd's minimal filtering (winograd_bf16.h), on one thread.
/// Null where shape or machine do not allow it: 3×3 windows of stride 1, padding up to 2, native
/// input, no bias.
[[nodiscard]] std::shared_ptr<const onednn::PassPlan> plan_winograd_convolution(
    const Conv2dSpec& shape, onednn::Pass pass);

}  // namespace ptbench

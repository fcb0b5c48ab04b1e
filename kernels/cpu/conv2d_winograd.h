#pragma once

#include <memory>

#include "kernels/cpu/onednn.h"

namespace ptbench {

/// How transformed values are multiplied: as their type is, or bf16 as f32.
enum class WinogradProducts { of_type, widened };

/// A convolution by Winograd's minimal filtering (Lavin and Gray 2016), which needs fewer
/// multiplications and rounds more, on one thread (winograd_f32.h, winograd_stride2.h,
/// winograd_bf16.h). Null where shape or machine do not allow it: 3×3 windows of stride 1 and
/// padding up to 2, in f32 also of stride 2 and padding 1, native input in blocks of channels; in
/// bf16 no bias; other types are not widened.
[[nodiscard]] std::shared_ptr<const onednn::PassPlan> plan_winograd_convolution(
    const Conv2dSpec& shape, onednn::Pass pass, WinogradProducts products);

}  // namespace ptbench

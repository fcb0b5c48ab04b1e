#pragma once

#include <string>
#include <string_view>

#include "src/base/element_type.h"
#include "strategies/loss_scaling.h"

// What --precision stands for: "fp32", "tf32", "bf16" or "fp16".
namespace ptbench {

/// As what `precision` has matrices multiplied.
[[nodiscard]] ElementType multiplied_type(std::string_view precision);

/// Whether GPUs of a compute capability ("8.0") multiply `precision`: bf16 and tf32 from 8.0 on.
[[nodiscard]] bool multiplies(std::string_view compute_capability, std::string_view precision);

/// What mixed precision takes on such a GPU, if nothing else is said: bf16, which has the range of
/// fp32, else fp16.
[[nodiscard]] std::string mixed_precision_of(std::string_view compute_capability);

/// How the loss is scaled in `precision`, if nothing else is said: dynamically in fp16, whose range
/// gradients leave.
[[nodiscard]] LossScaleSpec usual_loss_scale(std::string_view precision);

}  // namespace ptbench

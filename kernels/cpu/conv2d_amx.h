#pragma once

#include <memory>

#include "kernels/cpu/onednn.h"
#include "kernels/spec.h"

namespace ptbench {

/// A pass of a convolution of bf16 images that lie channels last, by own AMX products; null where
/// it cannot be computed so. Channels are whole blocks of 16.
[[nodiscard]] std::shared_ptr<const onednn::PassPlan> plan_amx_convolution(const Conv2dSpec& shape,
                                                                           onednn::Pass pass);

}  // namespace ptbench

#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// A tensor in another format, type or both; backward the same the other way round. The native
/// tensor tells the image (a native one of two dimensions has one pixel); two native tensors must
/// be of the same image.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_reorder(const ReorderSpec& spec, Team& team,
                                                         Isa isa);

}  // namespace ptbench

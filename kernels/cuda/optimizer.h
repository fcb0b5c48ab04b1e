#pragma once

#include <memory>

#include "kernels/cuda/operators.h"
#include "kernels/optimizer.h"

namespace ptbench::cuda {

/// One kernel a slice, or a part of one, over arenas in the device's memory; the backend outlives
/// it. Who owns which part does not matter here: all threads of the device share every slice.
[[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(const OptimizerSpec& spec,
                                                        const OptimizerArenas& arenas,
                                                        const OperatorSite& site);

}  // namespace ptbench::cuda

#pragma once

#include "workloads/catalog.h"

namespace ptbench {

/// One linear layer: what a step costs when there is nearly nothing to compute.
[[nodiscard]] Workload linear_workload();

/// Two hidden layers of 1024 with ReLU: matrix products and little else.
[[nodiscard]] Workload mlp_workload();

}  // namespace ptbench

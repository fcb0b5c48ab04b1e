#pragma once

#include "workloads/workload_catalog.h"

namespace ptbench {

/// One linear layer: what a step costs when there is nearly nothing to compute.
[[nodiscard]] Workload linear_workload();

/// Two hidden layers of 1024 with ReLU: matrix products and little else.
[[nodiscard]] Workload mlp_workload();

/// ResNet-18 (He et al., Deep Residual Learning for Image Recognition, 2015) for images of 32×32:
/// a 3×3 convolution first and no max-pool. Layers have torchvision's names.
[[nodiscard]] Workload resnet18_workload();

/// ResNet-50 v1.5 for images of 224×224: torchvision's resnet50, with the strides of the
/// bottlenecks in their 3×3 convolutions. Layers have torchvision's names.
[[nodiscard]] Workload resnet50_workload();

/// For workloads that take samples of their own shape only: throws a usage error that names both
/// shapes where `given` is another one.
void require_own_shape(const std::string& workload, const Shape& own, const Shape& given);

}  // namespace ptbench

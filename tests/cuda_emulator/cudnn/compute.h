#pragma once

#include <cstdint>
#include <map>

#include "tests/cuda_emulator/cudnn/convolution.h"
#include "tests/cuda_emulator/cudnn/engines.h"

namespace ptbench::emulator {

/// Where tensors lie in memory of the device, by their ids.
using Memory = std::map<std::int64_t, void*>;

/// Computes a plan, and tells the device what it reads and writes. Sums are f32, those of a
/// gradient of filters in this `order`, and so is all between the operations of a graph; the result
/// is rounded once. All of the workspace is spoilt.
void compute(const Plan& plan, const Memory& memory, void* workspace, SumOrder order);

}  // namespace ptbench::emulator

#pragma once

#include <cstdint>
#include <map>

#include "tests/cuda_emulator/cudnn/engines.h"

namespace ptbench::emulator {

/// Where tensors lie in memory of the device, by their ids.
using Memory = std::map<std::int64_t, void*>;

/// Computes a plan, and tells the device what it reads and writes. Sums are f32, and so is all
/// between the operations of a graph; the result is rounded once.
void compute(const Plan& plan, const Memory& memory, void* workspace);

}  // namespace ptbench::emulator

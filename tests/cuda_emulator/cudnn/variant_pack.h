#pragma once

#include <cudnn_graph.h>

#include "tests/cuda_emulator/cudnn/descriptor.h"

namespace ptbench::emulator {

/// Throws Refusal where ids and pointers do not go together.
void check_variant_pack(const Descriptor& descriptor);

/// Gives the stream what a plan computes on the memory of a variant pack. Throws Refusal where a
/// tensor or the workspace is lacking, or lies at a wrong address.
void execute(cudaStream_t stream, const Descriptor& plan, const Descriptor& pack);

}  // namespace ptbench::emulator

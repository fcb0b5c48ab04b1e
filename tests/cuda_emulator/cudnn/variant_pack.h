#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>

#include "tests/cuda_emulator/cudnn/descriptor.h"

namespace ptbench::emulator {

/// Throws Refusal where ids and pointers do not go together.
void check_variant_pack(const Descriptor& descriptor);

/// How often engines that do not repeat have run for a handle.
using Runs = std::shared_ptr<std::uint64_t>;

/// Gives the stream what a plan computes on the memory of a variant pack. Throws Refusal where a
/// tensor or the workspace is lacking, or lies at a wrong address, or the workspace holds a part of
/// a tensor.
void execute(cudaStream_t stream, const Runs& runs, const Descriptor& plan, const Descriptor& pack);

}  // namespace ptbench::emulator

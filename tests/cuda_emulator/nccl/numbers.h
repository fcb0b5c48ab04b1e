#pragma once

#include <nccl.h>

#include <cstddef>
#include <span>

#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator::nccl {

/// Bytes of an element; 0 for types that are not emulated (fp8).
[[nodiscard]] std::size_t width_of(ncclDataType_t type);
[[nodiscard]] const char* name_of(ncclDataType_t type);
[[nodiscard]] const char* name_of(ncclRedOp_t op);

/// How elements are combined. `factor` scales each before it is added: 1 but for ncclAvg of
/// floating-point types and for what ncclRedOpCreatePreMulSum makes.
struct Combination {
  ncclDataType_t type;
  ncclRedOp_t op;  ///< one of the built-in ones
  float factor = 1;
  int ranks = 1;
};

/// to[i] = the combination of sources[0][i], sources[1][i], …, in this order. Elements of bf16 and
/// fp16 are scaled and summed in fp32, and the result is rounded once.
void combine(const Combination& how, std::span<const U8* const> sources, U8* to, std::size_t count);

}  // namespace ptbench::emulator::nccl

#pragma once

#include <optional>

#include "kernels/tensor.h"
#include "src/base/clock.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Floating-point operations a second that `members` members of the team reach together on
/// multiply-adds of `type` in registers: what utilisation is measured against. The best of a few
/// rounds of some milliseconds. bf16: products of bf16 pairs summed in f32, by tiles (AMX), or by
/// vectors (AVX512_BF16) or those of f32, in which widened values are multiplied, whichever are
/// faster; empty below x86-64-v4 and where the CPU has neither, and for other types.
[[nodiscard]] std::optional<double> measure_fma_peak(Team& team, int members, Isa isa,
                                                     ElementType type, const Clock& clock);

}  // namespace ptbench

#pragma once

#include "kernels/cpu/simd.h"
#include "src/base/size.h"

namespace ptbench {

/// to += from, on this thread.
inline void add_values(Isa isa, const float* from, float* to, Size count) {
  simd::run(isa, [source = from, sum = to, count] {
    const float* __restrict terms = source;
    float* __restrict sums = sum;
    for (Size i = 0; i < count; ++i) sums[i] += terms[i];
  });
}

}  // namespace ptbench

#pragma once

#include "kernels/cuda/optimizer_kernels.h"

// An optimizer's update of one element. Rounding is pinned operation by operation.
namespace ptbench::cuda {

/// Stochastic gradient descent: v ← m·v + g + w·p, p ← p − lr·v. Without momentum `velocity` is
/// what is taken off alone.
template <bool kHasMomentum>
__device__ void update_by_sgd(const OptimizerScalars& s, float gradient, float& parameter,
                              float& velocity) {
  const float scaled = __fmul_rn(gradient, s.gradient_scale);
  const float decayed = __fmaf_rn(s.weight_decay, parameter, scaled);
  velocity = kHasMomentum ? __fmaf_rn(s.momentum, velocity, decayed) : decayed;
  parameter = __fmaf_rn(-s.lr, velocity, parameter);
}

/// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as PyTorch computes them: of the two
/// kinds of decay one is always switched off by its scalar.
__device__ inline void update_by_adam(const OptimizerScalars& s, float gradient, float& parameter,
                                      float& first, float& second) {
  const float scaled = __fmul_rn(gradient, s.gradient_scale);
  const float decayed = __fmaf_rn(s.weight_decay, parameter, scaled);
  first = __fmaf_rn(s.beta1, first, __fmul_rn(s.fresh1, decayed));
  second = __fmaf_rn(s.beta2, second, __fmul_rn(__fmul_rn(s.fresh2, decayed), decayed));
  const float root = __fmaf_rn(__fsqrt_rn(second), s.root_scale, s.epsilon);
  const float change = __fdiv_rn(__fmul_rn(s.step_size, first), root);
  parameter = __fmaf_rn(s.keep, parameter, -change);
}

}  // namespace ptbench::cuda

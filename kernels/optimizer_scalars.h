#pragma once

#include "kernels/optimizer.h"
#include "src/base/size.h"

namespace ptbench {

/// The numbers of one optimizer step, rounded once to the precision of the arithmetic. The same for
/// every element, so that backends compute alike.
struct OptimizerScalars {
  float lr = 0;
  float momentum = 0;
  float weight_decay = 0;  ///< that is added to the gradient
  float keep = 1;          ///< AdamW: what decay leaves of a parameter
  float beta1 = 0;
  float beta2 = 0;
  float fresh1 = 0;  ///< 1 - β1, rounded once: in float, 1 - 0.999 is off by 1e-5 of itself
  float fresh2 = 0;  ///< 1 - β2
  float epsilon = 0;
  float step_size = 0;       ///< lr / (1 - β1^t)
  float root_scale = 0;      ///< 1 / √(1 - β2^t)
  float gradient_scale = 1;  ///< that gradients are taken times
  friend bool operator==(const OptimizerScalars&, const OptimizerScalars&) = default;
};

/// Of the `step`-th update; they count from 1.
[[nodiscard]] OptimizerScalars scalars_of(const OptimizerSpec& spec, Size step,
                                          float gradient_scale);

}  // namespace ptbench

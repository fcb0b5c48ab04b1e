#include "kernels/reference/reference_optimizer.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace ptbench {

ReferenceOptimizer::ReferenceOptimizer(const OptimizerSpec& spec, const OptimizerArenas& arenas)
    : spec_(spec), arenas_(arenas) {
  const std::size_t elements = arenas.parameters.size();
  ensure(arenas.gradients.size() == elements, "gradients are as long as parameters");
  ensure(arenas.state.size() == static_cast<std::size_t>(spec.state_arenas()),
         "an optimizer gets the state arenas that it keeps");
  ensure(std::ranges::all_of(arenas.state,
                             [&](std::span<float> state) { return state.size() == elements; }),
         "state is as long as parameters");
}

void ReferenceOptimizer::step(Range slice, Size step, float gradient_scale) {
  ensure(step >= 1, "optimizer steps count from 1");
  if (slice.empty()) return;
  ensure(slice.begin >= 0 && slice.end <= static_cast<Size>(arenas_.parameters.size()),
         "a slice lies in the arena");
  if (!arenas_.skip.empty() && arenas_.skip.front() != 0) return;
  const auto count = static_cast<double>(step);
  const double correction1 = 1 - std::pow(spec_.beta1, count);
  const double correction2 = 1 - std::pow(spec_.beta2, count);
  const auto end = static_cast<std::size_t>(slice.end);
  for (auto element = static_cast<std::size_t>(slice.begin); element < end; ++element) {
    const double gradient = double{arenas_.gradients[element]} * double{gradient_scale};
    if (spec_.kind == OptimizerKind::sgd)
      sgd(element, gradient);
    else
      adam(element, gradient, correction1, correction2);
  }
}

void ReferenceOptimizer::sgd(std::size_t element, double gradient) {
  float& parameter = arenas_.parameters[element];
  double velocity = gradient + spec_.weight_decay * parameter;
  if (spec_.momentum != 0) {
    float& kept = arenas_.state[0][element];
    velocity += spec_.momentum * kept;
    kept = static_cast<float>(velocity);
  }
  parameter = static_cast<float>(parameter - spec_.lr * velocity);
}

void ReferenceOptimizer::adam(std::size_t element, double gradient, double correction1,
                              double correction2) {
  float& kept = arenas_.parameters[element];
  float& first = arenas_.state[0][element];
  float& second = arenas_.state[1][element];
  double parameter = kept;
  if (spec_.kind == OptimizerKind::adamw)
    parameter -= spec_.lr * spec_.weight_decay * parameter;
  else
    gradient += spec_.weight_decay * parameter;
  const double mean = spec_.beta1 * first + (1 - spec_.beta1) * gradient;
  const double square = spec_.beta2 * second + (1 - spec_.beta2) * gradient * gradient;
  first = static_cast<float>(mean);
  second = static_cast<float>(square);
  kept = static_cast<float>(parameter - spec_.lr * (mean / correction1) /
                                            (std::sqrt(square / correction2) + spec_.epsilon));
}

}  // namespace ptbench

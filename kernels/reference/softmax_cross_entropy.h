#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/reference/arithmetic.h"
#include "src/base/error.h"

namespace ptbench::reference {

/// log Σ exp(x) of one sample, shifted by its maximum so that no exponential overflows.
template <class T>
[[nodiscard]] double log_sum_exp(std::span<const T> logits) {
  double maximum = widened(logits[0]);
  for (const T& logit : logits)
    if (widened(logit) > maximum) maximum = widened(logit);
  double sum = 0;
  for (const T& logit : logits) sum += std::exp(widened(logit) - maximum);
  return maximum + std::log(sum);
}

/// `logits` batch × classes, `labels` batch. This part's share of the mean loss.
template <class T>
[[nodiscard]] double softmax_cross_entropy_forward(const SoftmaxCrossEntropySpec& spec,
                                                   std::span<const T> logits,
                                                   std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(spec.classes);
  double sum = 0;
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const std::span<const T> row = logits.subspan(sample * classes, classes);
    const std::int32_t label = labels[sample];
    ensure(label >= 0 && label < spec.classes, "a label lies outside the classes");
    sum += log_sum_exp(row) - widened(row[static_cast<std::size_t>(label)]);
  }
  return sum / static_cast<double>(spec.global_batch);
}

/// `logits_gradient` batch × classes: (softmax − one-hot) / global batch, times the loss scale.
template <class T>
void softmax_cross_entropy_backward(const SoftmaxCrossEntropySpec& spec, std::span<const T> logits,
                                    std::span<const std::int32_t> labels, double loss_scale,
                                    std::span<T> logits_gradient) {
  const auto classes = static_cast<std::size_t>(spec.classes);
  const double factor = loss_scale / static_cast<double>(spec.global_batch);
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const std::span<const T> row = logits.subspan(sample * classes, classes);
    const double log_sum = log_sum_exp(row);
    for (std::size_t index = 0; index < classes; ++index) {
      const bool is_label = static_cast<std::int32_t>(index) == labels[sample];
      const double probability = std::exp(widened(row[index]) - log_sum);
      logits_gradient[sample * classes + index] =
          narrowed<T>((probability - (is_label ? 1.0 : 0.0)) * factor);
    }
  }
}

}  // namespace ptbench::reference

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/operator.h"
#include "src/base/error.h"
#include "src/base/size.h"

/// The arithmetic of every operator as plain loops, as close to its formula as code can be. Sums
/// are in double. T is float in the reference backend, and double where rounding is in the way:
/// finite differences, and the expected values of contract tests.
namespace ptbench::reference {

/// A span as a row-major matrix; outlives nothing, copies nothing.
template <class T>
class Matrix {
 public:
  Matrix(std::span<T> values, Size columns) : values_(values), columns_(columns) {}

  [[nodiscard]] T& operator()(Size row, Size column) const {
    return values_[static_cast<std::size_t>(row * columns_ + column)];
  }

 private:
  std::span<T> values_;
  Size columns_;
};

/// max(0, x), but NaN stays NaN (as in PyTorch), so that a diverged run shows.
template <class T>
[[nodiscard]] T rectify(T value) {
  return value < 0 ? T{0} : value;
}

/// The gradient before a rectifier whose result was `output`; 0 at the kink, as in PyTorch.
template <class T>
[[nodiscard]] T rectify_gradient(T output, T output_gradient) {
  return output <= 0 ? T{0} : output_gradient;
}

/// `input` batch × inputs, `weight` outputs × inputs, `bias` outputs, `output` batch × outputs.
template <class T>
void linear_forward(const LinearSpec& spec, std::span<const T> input, std::span<const T> weight,
                    std::span<const T> bias, std::span<T> output) {
  const Matrix x(input, spec.inputs);
  const Matrix w(weight, spec.inputs);
  const Matrix y(output, spec.outputs);
  for (Size sample = 0; sample < spec.batch; ++sample) {
    for (Size out = 0; out < spec.outputs; ++out) {
      double sum = bias[static_cast<std::size_t>(out)];
      for (Size in = 0; in < spec.inputs; ++in) sum += double{x(sample, in)} * double{w(out, in)};
      y(sample, out) = static_cast<T>(spec.relu ? rectify(sum) : sum);
    }
  }
}

/// The results of `linear_backward`; shapes of weight, bias and input.
template <class T>
struct LinearGradients {
  std::span<T> weight;
  std::span<T> bias;
  std::span<T> input;  ///< may be empty unless spec.input_gradient
};

/// `output` is what forward wrote: it says where the rectifier was open.
template <class T>
void linear_backward(const LinearSpec& spec, std::span<const T> input, std::span<const T> weight,
                     std::span<const T> output, std::span<const T> output_gradient,
                     const LinearGradients<T>& gradients) {
  const Matrix x(input, spec.inputs);
  const Matrix w(weight, spec.inputs);
  const Matrix y(output, spec.outputs);
  const Matrix dy(output_gradient, spec.outputs);
  const auto gradient = [&](Size sample, Size out) -> double {
    const T open = dy(sample, out);
    return spec.relu ? rectify_gradient(y(sample, out), open) : open;
  };
  const Matrix dw(gradients.weight, spec.inputs);
  for (Size out = 0; out < spec.outputs; ++out) {
    double bias_sum = 0;
    for (Size sample = 0; sample < spec.batch; ++sample) bias_sum += gradient(sample, out);
    gradients.bias[static_cast<std::size_t>(out)] = static_cast<T>(bias_sum);
    for (Size in = 0; in < spec.inputs; ++in) {
      double sum = 0;
      for (Size sample = 0; sample < spec.batch; ++sample)
        sum += gradient(sample, out) * double{x(sample, in)};
      dw(out, in) = static_cast<T>(sum);
    }
  }
  if (!spec.input_gradient) return;
  const Matrix dx(gradients.input, spec.inputs);
  for (Size sample = 0; sample < spec.batch; ++sample) {
    for (Size in = 0; in < spec.inputs; ++in) {
      double sum = 0;
      for (Size out = 0; out < spec.outputs; ++out)
        sum += gradient(sample, out) * double{w(out, in)};
      dx(sample, in) = static_cast<T>(sum);
    }
  }
}

/// log Σ exp(x) of one sample, shifted by its maximum so that no exponential overflows.
template <class T>
[[nodiscard]] double log_sum_exp(std::span<const T> logits) {
  const double maximum = std::ranges::max(logits);
  double sum = 0;
  for (const T logit : logits) sum += std::exp(double{logit} - maximum);
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
    sum += log_sum_exp(row) - double{row[static_cast<std::size_t>(label)]};
  }
  return sum / static_cast<double>(spec.global_batch);
}

/// `logits_gradient` batch × classes: (softmax − one-hot) / global batch.
template <class T>
void softmax_cross_entropy_backward(const SoftmaxCrossEntropySpec& spec, std::span<const T> logits,
                                    std::span<const std::int32_t> labels,
                                    std::span<T> logits_gradient) {
  const auto classes = static_cast<std::size_t>(spec.classes);
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const std::span<const T> row = logits.subspan(sample * classes, classes);
    const double log_sum = log_sum_exp(row);
    for (std::size_t index = 0; index < classes; ++index) {
      const bool is_label = static_cast<std::int32_t>(index) == labels[sample];
      const double probability = std::exp(double{row[index]} - log_sum);
      logits_gradient[sample * classes + index] = static_cast<T>(
          (probability - (is_label ? 1.0 : 0.0)) / static_cast<double>(spec.global_batch));
    }
  }
}

}  // namespace ptbench::reference

#pragma once

#include <span>

#include "kernels/reference/arithmetic.h"

namespace ptbench::reference {

/// `input` batch × inputs, `weight` outputs × inputs, `bias` outputs, `output` batch × outputs.
template <class T>
void linear_forward(const LinearSpec& spec, std::span<const T> input,
                    std::span<const ParameterOf<T>> weight, std::span<const ParameterOf<T>> bias,
                    std::span<T> output) {
  const Matrix x(input, spec.inputs);
  const Matrix w(weight, spec.inputs);
  const Matrix y(output, spec.outputs);
  for (Size sample = 0; sample < spec.batch; ++sample) {
    for (Size out = 0; out < spec.outputs; ++out) {
      double sum = bias[static_cast<std::size_t>(out)];
      for (Size in = 0; in < spec.inputs; ++in)
        sum += widened(x(sample, in)) * multiplied_as<T>(w(out, in));
      y(sample, out) = narrowed<T>(spec.relu ? rectify(sum) : sum);
    }
  }
}

/// The results of `linear_backward`; shapes of weight, bias and input.
template <class T>
struct LinearGradients {
  std::span<ParameterOf<T>> weight;
  std::span<ParameterOf<T>> bias;
  std::span<T> input;                         ///< empty where nobody needs it
  GradientMode mode = GradientMode::replace;  ///< of weight and bias
};

/// `output` is what forward wrote: it says where the rectifier was open.
template <class T>
void linear_backward(const LinearSpec& spec, std::span<const T> input,
                     std::span<const ParameterOf<T>> weight, std::span<const T> output,
                     std::span<const T> output_gradient, const LinearGradients<T>& gradients) {
  const Matrix x(input, spec.inputs);
  const Matrix w(weight, spec.inputs);
  const Matrix y(output, spec.outputs);
  const Matrix dy(output_gradient, spec.outputs);
  const auto gradient = [&](Size sample, Size out) {
    const double open = widened(dy(sample, out));
    return spec.relu ? rectify_gradient(widened(y(sample, out)), open) : open;
  };
  const Matrix dw(gradients.weight, spec.inputs);
  for (Size out = 0; out < spec.outputs; ++out) {
    double bias_sum = 0;
    for (Size sample = 0; sample < spec.batch; ++sample) bias_sum += gradient(sample, out);
    put_gradient(gradients.mode, bias_sum, gradients.bias[static_cast<std::size_t>(out)]);
    for (Size in = 0; in < spec.inputs; ++in) {
      double sum = 0;
      for (Size sample = 0; sample < spec.batch; ++sample)
        sum += gradient(sample, out) * widened(x(sample, in));
      put_gradient(gradients.mode, sum, dw(out, in));
    }
  }
  if (gradients.input.empty()) return;
  const Matrix dx(gradients.input, spec.inputs);
  for (Size sample = 0; sample < spec.batch; ++sample) {
    for (Size in = 0; in < spec.inputs; ++in) {
      double sum = 0;
      for (Size out = 0; out < spec.outputs; ++out)
        sum += gradient(sample, out) * multiplied_as<T>(w(out, in));
      dx(sample, in) = narrowed<T>(sum);
    }
  }
}

}  // namespace ptbench::reference

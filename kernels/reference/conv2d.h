#pragma once

#include <span>

#include "kernels/reference/arithmetic.h"

namespace ptbench::reference {

/// The weight as images: outputs × channels × kernel height × kernel width.
[[nodiscard]] inline ImageShape weight_shape(const Conv2dSpec& spec) {
  return {.batch = spec.outputs,
          .channels = spec.input.channels,
          .height = spec.window.kernel_height,
          .width = spec.window.kernel_width};
}

/// `bias` is empty unless spec.bias, `addend` unless spec.add.
template <class T>
void conv2d_forward(const Conv2dSpec& spec, std::span<const T> input, std::span<const T> addend,
                    std::span<const ParameterOf<T>> weight, std::span<const ParameterOf<T>> bias,
                    std::span<T> output) {
  const Images x(input, spec.input);
  const Images w(weight, weight_shape(spec));
  const Images z(addend, spec.output());
  const Images y(output, spec.output());
  for (Size sample = 0; sample < spec.input.batch; ++sample) {
    for (Size out = 0; out < spec.outputs; ++out) {
      const double start = spec.bias ? double{bias[static_cast<std::size_t>(out)]} : 0.0;
      for_each_pixel(spec.output(), [&](Size row, Size column) {
        double sum = start;
        for (Size in = 0; in < spec.input.channels; ++in)
          for_each_tap(spec.window, spec.input, row, column, [&](const Tap& tap) {
            sum += widened(x(sample, in, tap.row, tap.column)) *
                   multiplied_as<T>(w(out, in, tap.kernel_row, tap.kernel_column));
          });
        if (spec.add) sum += widened(z(sample, out, row, column));
        y(sample, out, row, column) = narrowed<T>(spec.relu ? rectify(sum) : sum);
      });
    }
  }
}

/// The results of `conv2d_backward`; shapes of weight, bias and input.
template <class T>
struct Conv2dGradients {
  std::span<ParameterOf<T>> weight;
  std::span<ParameterOf<T>> bias;             ///< empty unless spec.bias
  std::span<T> input;                         ///< empty where nobody needs it
  GradientMode mode = GradientMode::replace;  ///< of weight and bias
};

template <class T>
void conv2d_backward_weight(const Conv2dSpec& spec, std::span<const T> input,
                            std::span<const T> output_gradient, GradientMode mode,
                            std::span<ParameterOf<T>> weight_gradient) {
  const Images x(input, spec.input);
  const Images dy(output_gradient, spec.output());
  const Images dw(weight_gradient, weight_shape(spec));
  const Window& window = spec.window;
  for (Size out = 0; out < spec.outputs; ++out) {
    for (Size in = 0; in < spec.input.channels; ++in) {
      for_each_pixel(weight_shape(spec), [&](Size ky, Size kx) {
        double sum = 0;
        for (Size sample = 0; sample < spec.input.batch; ++sample) {
          for_each_pixel(spec.output(), [&](Size row, Size column) {
            const Size below = row * window.stride_height - window.padding_height + ky;
            const Size right = column * window.stride_width - window.padding_width + kx;
            if (below < 0 || below >= spec.input.height) return;
            if (right < 0 || right >= spec.input.width) return;
            sum += widened(x(sample, in, below, right)) * widened(dy(sample, out, row, column));
          });
        }
        put_gradient(mode, sum, dw(out, in, ky, kx));
      });
    }
  }
}

/// Each pixel of the input collects from the output pixels whose windows cover it.
template <class T>
void conv2d_backward_input(const Conv2dSpec& spec, std::span<const ParameterOf<T>> weight,
                           std::span<const T> output_gradient, std::span<T> input_gradient) {
  const Images w(weight, weight_shape(spec));
  const Images dy(output_gradient, spec.output());
  const Images dx(input_gradient, spec.input);
  const ImageShape output = spec.output();
  const Window& window = spec.window;
  const auto gradient_of = [&](Size sample, Size in, Size row, Size column) {
    double sum = 0;
    for_each_pixel(weight_shape(spec), [&](Size ky, Size kx) {
      const Size below = row + window.padding_height - ky;
      const Size right = column + window.padding_width - kx;
      if (below < 0 || right < 0) return;
      if (below % window.stride_height != 0 || right % window.stride_width != 0) return;
      const Size y = below / window.stride_height;
      const Size x = right / window.stride_width;
      if (y >= output.height || x >= output.width) return;
      for (Size out = 0; out < spec.outputs; ++out)
        sum += widened(dy(sample, out, y, x)) * multiplied_as<T>(w(out, in, ky, kx));
    });
    return sum;
  };
  for (Size sample = 0; sample < spec.input.batch; ++sample)
    for (Size in = 0; in < spec.input.channels; ++in)
      for_each_pixel(spec.input, [&](Size row, Size column) {
        dx(sample, in, row, column) = narrowed<T>(gradient_of(sample, in, row, column));
      });
}

/// The gradient in front of the rectifier and of the addition, `open`, which is the addend's too:
/// `output` is what forward wrote.
template <class T>
void conv2d_open_gradient(const Conv2dSpec& spec, std::span<const T> output,
                          std::span<const T> output_gradient, std::span<T> open) {
  for (std::size_t i = 0; i < open.size(); ++i) {
    const double gradient = widened(output_gradient[i]);
    open[i] = narrowed<T>(spec.relu ? rectify_gradient(widened(output[i]), gradient) : gradient);
  }
}

/// `output_gradient`: in front of the rectifier.
template <class T>
void conv2d_backward(const Conv2dSpec& spec, std::span<const T> input,
                     std::span<const ParameterOf<T>> weight, std::span<const T> output_gradient,
                     const Conv2dGradients<T>& gradients) {
  conv2d_backward_weight<T>(spec, input, output_gradient, gradients.mode, gradients.weight);
  const Images dy(output_gradient, spec.output());
  for (Size out = 0; out < static_cast<Size>(gradients.bias.size()); ++out) {
    double sum = 0;
    for (Size sample = 0; sample < spec.input.batch; ++sample)
      for (const T& gradient : dy.plane(sample, out)) sum += widened(gradient);
    put_gradient(gradients.mode, sum, gradients.bias[static_cast<std::size_t>(out)]);
  }
  if (!gradients.input.empty())
    conv2d_backward_input<T>(spec, weight, output_gradient, gradients.input);
}

}  // namespace ptbench::reference

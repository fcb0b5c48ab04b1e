#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kernels/reference/arithmetic.h"

namespace ptbench::reference {

/// The pixel of one window that a max pool gives on: the first of the largest, or the last NaN (as
/// in PyTorch), so that a diverged run shows. Empty where the window holds nothing but padding.
template <class T>
[[nodiscard]] std::optional<Tap> largest(const PoolSpec& spec, const Images<const T>& input,
                                         Size sample, Size channel, Size row, Size column) {
  std::optional<Tap> found;
  double best = -std::numeric_limits<double>::infinity();
  for_each_tap(spec.window, spec.input, row, column, [&](const Tap& tap) {
    const double value = widened(input(sample, channel, tap.row, tap.column));
    if (found && !(value > best) && !std::isnan(value)) return;
    found = tap;
    best = value;
  });
  return found;
}

/// Calls `use(sample, channel, row, column)` for each pixel of the output.
template <class Use>
void for_each_output(const PoolSpec& spec, Use use) {
  for (Size sample = 0; sample < spec.input.batch; ++sample)
    for (Size channel = 0; channel < spec.input.channels; ++channel)
      for_each_pixel(spec.output(),
                     [&](Size row, Size column) { use(sample, channel, row, column); });
}

template <class T>
void pool_forward(const PoolSpec& spec, std::span<const T> input, std::span<T> output) {
  const Images x(input, spec.input);
  const Images y(output, spec.output());
  const auto size = static_cast<double>(spec.window.kernel_height * spec.window.kernel_width);
  for_each_output(spec, [&](Size sample, Size channel, Size row, Size column) {
    double value = 0;
    if (spec.kind == PoolKind::max) {
      const std::optional<Tap> tap = largest(spec, x, sample, channel, row, column);
      value = tap ? widened(x(sample, channel, tap->row, tap->column))
                  : -std::numeric_limits<double>::infinity();
    } else {
      for_each_tap(spec.window, spec.input, row, column, [&](const Tap& tap) {
        value += widened(x(sample, channel, tap.row, tap.column));
      });
      value /= size;
    }
    y(sample, channel, row, column) = narrowed<T>(value);
  });
}

/// `sums` has the input's elements and is overwritten; it keeps what windows add up, unrounded.
template <class T>
void pool_backward(const PoolSpec& spec, std::span<const T> input,
                   std::span<const T> output_gradient, std::span<double> sums,
                   std::span<T> input_gradient) {
  const Images x(input, spec.input);
  const Images dy(output_gradient, spec.output());
  const Images sum(sums, spec.input);
  const auto size = static_cast<double>(spec.window.kernel_height * spec.window.kernel_width);
  std::ranges::fill(sums, 0.0);
  for_each_output(spec, [&](Size sample, Size channel, Size row, Size column) {
    const double gradient = widened(dy(sample, channel, row, column));
    if (spec.kind == PoolKind::average) {
      for_each_tap(spec.window, spec.input, row, column, [&](const Tap& tap) {
        sum(sample, channel, tap.row, tap.column) += gradient / size;
      });
    } else if (const std::optional<Tap> tap = largest(spec, x, sample, channel, row, column)) {
      sum(sample, channel, tap->row, tap->column) += gradient;
    }
  });
  for (std::size_t i = 0; i < sums.size(); ++i) input_gradient[i] = narrowed<T>(sums[i]);
}

}  // namespace ptbench::reference

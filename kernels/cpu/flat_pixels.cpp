#include "kernels/cpu/flat_pixels.h"

#include <algorithm>

namespace ptbench::flat {
namespace {

Size floor_divided(Size value, Size by) { return (value >= 0 ? value : value - by + 1) / by; }

/// One direction of a window, of an input and of an output.
struct Axis {
  Size kernel;
  Size stride;
  Size padding;
  Size input;
  Size output;

  /// Steps on the line from an output to what the tap reads, and the phase of that.
  [[nodiscard]] Size step(Size tap) const { return floor_divided(tap - padding, stride); }
  [[nodiscard]] Size phase(Size tap) const { return tap - padding - step(tap) * stride; }

  /// Places of a row (or rows of a sample), the gap behind it included. 3 taps with a padding of 1
  /// on 4 pixels take 5: the tap before the first pixel meets the gap of the row before, the tap
  /// behind the last one that of its own row.
  [[nodiscard]] Size length() const {
    const Size before = std::max<Size>(0, -step(0));
    const Size behind = std::max<Size>(0, step(kernel - 1));
    const Size inputs = (input + stride - 1) / stride;
    return std::max(output + behind, inputs + before);
  }
};

}  // namespace

Run Image::run_at(const Line& line, const Bf16* pixels, Size position, Size end) const {
  const auto gap = [&](Size until) {
    return Run{.begin = position, .count = std::min(until, end) - position, .pixels = nullptr};
  };
  if (position < 0) return gap(0);
  if (position >= line.positions()) return gap(end);
  const Size line_row = position / line.width;
  const Size column = position % line.width;
  const Size next_row = position - column + line.width;
  const Size y = line_row % line.rows * stride_height + phase.row;
  const Size there = y >= height ? 0 : (width - phase.column + stride_width - 1) / stride_width;
  if (column >= there) return gap(next_row);
  const Size x = column * stride_width + phase.column;
  const Size step = stride_width * channels;
  const Bf16* first = pixels + ((line_row / line.rows * height + y) * width + x) * channels;
  const Size until = std::min({next_row - line.width + there, next_row, end});
  return {.begin = position, .count = until - position, .pixels = first, .step = step};
}

Geometry geometry_of(const Conv2dSpec& spec) {
  const ImageShape output = spec.output();
  const Window& w = spec.window;
  const Axis rows{w.kernel_height, w.stride_height, w.padding_height, spec.input.height,
                  output.height};
  const Axis columns{w.kernel_width, w.stride_width, w.padding_width, spec.input.width,
                     output.width};
  Geometry g;
  g.line = {.batch = spec.input.batch, .width = columns.length(), .rows = rows.length()};
  for (Size y = 0; y < w.kernel_height; ++y)
    for (Size x = 0; x < w.kernel_width; ++x) {
      const Phase phase{rows.phase(y), columns.phase(x)};
      const auto found = std::ranges::find(g.phases, phase);
      g.taps.push_back({.phase = static_cast<std::size_t>(found - g.phases.begin()),
                        .offset = rows.step(y) * g.line.width + columns.step(x)});
      if (found == g.phases.end()) g.phases.push_back(phase);
    }
  const auto by_offset = [](const Tap& a, const Tap& b) { return a.offset < b.offset; };
  const auto [least, most] = std::ranges::minmax_element(g.taps, by_offset);
  g.least_offset = least->offset;
  g.most_offset = most->offset;
  g.input = {.batch = spec.input.batch,
             .height = spec.input.height,
             .width = spec.input.width,
             .channels = spec.input.channels,
             .stride_height = w.stride_height,
             .stride_width = w.stride_width};
  g.output = {.batch = output.batch,
              .height = output.height,
              .width = output.width,
              .channels = output.channels};
  return g;
}

}  // namespace ptbench::flat

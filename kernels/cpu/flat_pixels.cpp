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

  /// Places of all inputs and outputs with the gap: what taps read behind the last output must
  /// have a place, and where they read before the first, which is behind the row or sample before,
  /// nothing lies.
  [[nodiscard]] Size length() const {
    const Size before = std::max<Size>(0, -step(0));
    const Size behind = std::max<Size>(0, step(kernel - 1));
    const Size inputs = (input + stride - 1) / stride;
    return std::max(output + behind, inputs + before);
  }
};

}  // namespace

const Bf16* Image::at(const Line& line, const Bf16* pixels, Size position) const {
  if (position < 0 || position >= line.positions()) return nullptr;
  const Size line_row = position / line.width;
  const Size y = line_row % line.rows * stride_height + phase.row;
  const Size x = position % line.width * stride_width + phase.column;
  if (y >= height || x >= width) return nullptr;
  return pixels + ((line_row / line.rows * height + y) * width + x) * channels;
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

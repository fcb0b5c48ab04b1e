#include "kernels/cpu/flat_pixels.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

namespace ptbench {
namespace {

using flat::Geometry;

constexpr Size kBatch = 2;
constexpr Size kChannels = 3;

const Bf16* found_at(const flat::Image& image, const Geometry& g, const std::vector<Bf16>& memory,
                     Size position) {
  return image.run_at(g.line, memory.data(), position, position + 1).pixels;
}

/// The pixel at (y, x) of a sample, or null outside of the image.
const Bf16* pixel(const ImageShape& image, const std::vector<Bf16>& memory, Size sample, Size y,
                  Size x) {
  if (y < 0 || y >= image.height || x < 0 || x >= image.width) return nullptr;
  return memory.data() + ((sample * image.height + y) * image.width + x) * image.channels;
}

/// Whether every tap of every output finds on the line what the window says it reads.
bool taps_read_their_pixels(const Conv2dSpec& spec, const std::vector<Bf16>& memory) {
  const Geometry g = flat::geometry_of(spec);
  const Window& w = spec.window;
  const ImageShape output = spec.output();
  flat::Image image = g.input;
  for (Size sample = 0; sample < kBatch; ++sample)
    for (Size y = 0; y < output.height; ++y)
      for (Size x = 0; x < output.width; ++x)
        for (Size ky = 0; ky < w.kernel_height; ++ky)
          for (Size kx = 0; kx < w.kernel_width; ++kx) {
            const auto& tap = g.taps[static_cast<std::size_t>(ky * w.kernel_width + kx)];
            image.phase = g.phases[tap.phase];
            const Size position = (sample * g.line.rows + y) * g.line.width + x;
            if (found_at(image, g, memory, position + tap.offset) !=
                pixel(spec.input, memory, sample, y * w.stride_height + ky - w.padding_height,
                      x * w.stride_width + kx - w.padding_width))
              return false;
          }
  return true;
}

/// Whether each pixel of the output lies on the line once.
bool outputs_lie_once(const Conv2dSpec& spec, const std::vector<Bf16>& memory) {
  const Geometry g = flat::geometry_of(spec);
  const ImageShape output = spec.output();
  std::multiset<const Bf16*> outputs;
  for (Size position = -g.line.width; position < g.line.positions() + g.line.width; ++position)
    if (const Bf16* found = found_at(g.output, g, memory, position)) outputs.insert(found);
  const std::set<const Bf16*> different(outputs.begin(), outputs.end());
  return outputs.size() == different.size() &&
         static_cast<Size>(outputs.size()) == kBatch * output.pixels();
}

/// Whether each pixel of the input lies on the line of exactly one phase.
bool inputs_lie_once(const Conv2dSpec& spec, const std::vector<Bf16>& memory) {
  const Geometry g = flat::geometry_of(spec);
  std::multiset<const Bf16*> inputs;
  flat::Image image = g.input;
  for (Size row = 0; row < spec.window.stride_height; ++row)
    for (Size column = 0; column < spec.window.stride_width; ++column) {
      image.phase = {.row = row, .column = column};
      for (Size position = 0; position < g.line.positions(); ++position)
        if (const Bf16* found = found_at(image, g, memory, position)) inputs.insert(found);
    }
  const std::set<const Bf16*> different(inputs.begin(), inputs.end());
  return inputs.size() == different.size() &&
         static_cast<Size>(inputs.size()) == kBatch * spec.input.pixels();
}

/// Whether runs of any length say the same as each position alone.
bool runs_are_positions(const Conv2dSpec& spec, const std::vector<Bf16>& memory) {
  const Geometry g = flat::geometry_of(spec);
  flat::Image image = g.input;
  image.phase = g.phases.back();
  const Size end = g.line.positions() + g.line.width;
  flat::Run run;
  for (Size position = -g.line.width; position < end; position += run.count) {
    run = image.run_at(g.line, memory.data(), position, end);
    if (run.begin != position || run.count < 1 || position + run.count > end) return false;
    for (Size i = 0; i < run.count; ++i)
      if (found_at(image, g, memory, position + i) !=
          (run.pixels == nullptr ? nullptr : run.pixels + i * run.step))
        return false;
  }
  return true;
}

}  // namespace

TEST_CASE("on a line of pixels each tap of a window is an offset") {
  for (const Size height : {1, 2, 5, 8})
    for (const Size width : {1, 3, 6, 7})
      for (const Size kernel_height : {1, 2, 3, 7})
        for (const Size kernel_width : {1, 3, 4})
          for (const Size stride : {1, 2, 3})
            for (const Size padding : {0, 1, 3}) {
              const Window window{.kernel_height = kernel_height,
                                  .kernel_width = kernel_width,
                                  .stride_height = stride,
                                  .stride_width = 4 - stride,
                                  .padding_height = padding,
                                  .padding_width = 3 - padding};
              const Conv2dSpec spec{.input = {.batch = kBatch,
                                              .channels = kChannels,
                                              .height = height,
                                              .width = width},
                                    .outputs = kChannels,
                                    .window = window,
                                    .type = ElementType::bf16};
              if (window.output_height(height) < 1 || window.output_width(width) < 1) continue;
              const std::vector<Bf16> memory(static_cast<std::size_t>(
                  std::max(spec.input.elements(), spec.output().elements())));
              CAPTURE(height, width, kernel_height, kernel_width, stride, padding);
              CHECK(taps_read_their_pixels(spec, memory));
              CHECK(outputs_lie_once(spec, memory));
              CHECK(inputs_lie_once(spec, memory));
              CHECK(runs_are_positions(spec, memory));
            }
}

}  // namespace ptbench

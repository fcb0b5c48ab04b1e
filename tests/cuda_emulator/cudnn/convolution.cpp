#include "tests/cuda_emulator/cudnn/convolution.h"

#include <algorithm>
#include <vector>

#include "tests/cuda_emulator/arithmetic/product.h"

namespace ptbench::emulator {
namespace {

/// Gathered rows of a product that lie in the cache together.
constexpr std::size_t kBlockElements = 128 * 1024;
/// Rows of the two operands over which a partial sum of a gradient of filters goes.
constexpr std::size_t kPartElements = 1024 * 1024;

std::size_t rows_in(std::size_t elements, std::size_t columns) {
  return std::max<std::size_t>(48, elements / columns);
}

/// A place in an image or among its responses.
struct Place {
  std::size_t image;
  std::size_t row;
  std::size_t column;
};

Place place_of(std::size_t index, std::size_t rows, std::size_t columns) {
  return {index / (rows * columns), index / columns % rows, index % columns};
}

/// What the filters see at a place of the responses, [window][channels]: zeros outside of x.
void gather_window(const ConvolutionShape& shape, const float* x, const Place& place, float* to) {
  const ConvolutionAxis& down = shape.vertical;
  const ConvolutionAxis& across = shape.horizontal;
  const std::size_t channels = shape.channels;
  // The image's columns under the window are first - padding up to before last - padding.
  const std::size_t first = place.column * across.stride;
  const std::size_t last = first + across.window;
  const std::size_t begin = std::clamp(across.padding, first, last);
  const std::size_t end = std::clamp(across.padding + across.size, begin, last);
  for (std::size_t line = 0; line < down.window; ++line, to += across.window * channels) {
    const std::size_t row = place.row * down.stride + line;  // counted with the padding
    if (row < down.padding || row >= down.padding + down.size || begin == end) {
      std::fill_n(to, across.window * channels, 0.0F);
      continue;
    }
    const std::size_t pixel = (place.image * down.size + row - down.padding) * across.size;
    std::fill_n(to, (begin - first) * channels, 0.0F);
    std::copy_n(x + (pixel + begin - across.padding) * channels, (end - begin) * channels,
                to + (begin - first) * channels);
    std::fill(to + (end - first) * channels, to + across.window * channels, 0.0F);
  }
}

/// Which response a pixel has part in under a line of the window; `responses` where none.
std::size_t response_of(const ConvolutionAxis& axis, std::size_t pixel, std::size_t line) {
  const std::size_t at = pixel + axis.padding;
  if (at < line || (at - line) % axis.stride != 0) return axis.responses;
  return std::min((at - line) / axis.stride, axis.responses);
}

/// The gradients of the responses that a pixel has part in, [window][filters]: zeros where none is.
void gather_responses(const ConvolutionShape& shape, const float* dy, const Place& place,
                      float* to) {
  const ConvolutionAxis& down = shape.vertical;
  const ConvolutionAxis& across = shape.horizontal;
  for (std::size_t line = 0; line < down.window; ++line) {
    const std::size_t row = response_of(down, place.row, line);
    for (std::size_t step = 0; step < across.window; ++step, to += shape.filters) {
      const std::size_t column = response_of(across, place.column, step);
      if (row == down.responses || column == across.responses) {
        std::fill_n(to, shape.filters, 0.0F);
        continue;
      }
      const std::size_t response = (place.image * down.responses + row) * across.responses + column;
      std::copy_n(dy + response * shape.filters, shape.filters, to);
    }
  }
}

/// product[rows][n] = gathered[rows][k] · factor, where `gather(row, to)` writes a row.
template <class Gather>
void multiply_gathered(std::size_t rows, const RightFactor& factor, Gather gather, float* product) {
  const std::size_t together = std::min(rows, rows_in(kBlockElements, factor.k()));
  std::vector<float> block(together * factor.k());
  for (std::size_t top = 0; top < rows; top += together) {
    const std::size_t count = std::min(together, rows - top);
    for (std::size_t row = 0; row < count; ++row)
      gather(top + row, block.data() + row * factor.k());
    multiply(count, block.data(), factor, product + top * factor.n());
  }
}

/// to[columns][rows] = from[rows][columns].
void transpose(std::size_t rows, std::size_t columns, const float* from, float* to) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      to[column * rows + row] = from[row * columns + column];
}

}  // namespace

void convolve(const ConvolutionShape& shape, const float* x, const float* w, float* y) {
  const std::size_t seen = shape.window() * shape.channels;
  std::vector<float> columns(seen * shape.filters);
  transpose(shape.filters, seen, w, columns.data());
  multiply_gathered(
      shape.responses(), RightFactor(seen, shape.filters, columns.data()),
      [&](std::size_t row, float* to) {
        const Place place = place_of(row, shape.vertical.responses, shape.horizontal.responses);
        gather_window(shape, x, place, to);
      },
      y);
}

void convolve_to_image(const ConvolutionShape& shape, const float* dy, const float* w, float* dx) {
  // From [filters][window][channels] to [window][filters][channels].
  const std::size_t channels = shape.channels;
  std::vector<float> by_window(shape.window() * shape.filters * channels);
  for (std::size_t filter = 0; filter < shape.filters; ++filter)
    for (std::size_t at = 0; at < shape.window(); ++at)
      std::copy_n(w + (filter * shape.window() + at) * channels, channels,
                  by_window.data() + (at * shape.filters + filter) * channels);
  multiply_gathered(
      shape.pixels(), RightFactor(shape.window() * shape.filters, channels, by_window.data()),
      [&](std::size_t row, float* to) {
        const Place place = place_of(row, shape.vertical.size, shape.horizontal.size);
        gather_responses(shape, dy, place, to);
      },
      dx);
}

void convolve_to_filters(const ConvolutionShape& shape, const float* x, const float* dy,
                         SumOrder order, float* dw) {
  const std::size_t seen = shape.window() * shape.channels;
  const std::size_t together = std::min(shape.responses(), rows_in(kPartElements, seen));
  std::vector<float> windows(together * seen);
  std::vector<float> gradients(together * shape.filters);
  std::vector<float> part(shape.filters * seen);
  std::fill_n(dw, part.size(), 0.0F);
  for (std::size_t top = 0; top < shape.responses(); top += together) {
    const std::size_t count = std::min(together, shape.responses() - top);
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t response =
          order == SumOrder::first_to_last ? top + row : shape.responses() - 1 - (top + row);
      const Place place = place_of(response, shape.vertical.responses, shape.horizontal.responses);
      gather_window(shape, x, place, windows.data() + row * seen);
      for (std::size_t filter = 0; filter < shape.filters; ++filter)
        gradients[filter * count + row] = dy[response * shape.filters + filter];
    }
    multiply(shape.filters, gradients.data(), RightFactor(count, seen, windows.data()),
             part.data());
    for (std::size_t index = 0; index < part.size(); ++index) dw[index] += part[index];
  }
}

}  // namespace ptbench::emulator

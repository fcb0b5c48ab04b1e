#pragma once

#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// How Winograd's minimal filtering of 3×3 windows cuts images: squares of results, each computed
// from a patch, whose side is two pixels longer where the stride is 1.
namespace ptbench::winograd {

struct Padding {
  Size height = 0;
  Size width = 0;
};

/// Which sample a tile is of and where its results begin.
struct Place {
  Size sample;
  Size row;
  Size column;
};

/// How an image is cut into tiles; the last of a row or column may reach over the edge.
struct Tiles {
  ImageShape image;  ///< that the tiles' patches come from
  ImageShape result;
  Padding padding;
  Size side = 0;  ///< results of a tile in each direction

  [[nodiscard]] Size rows() const { return (result.height + side - 1) / side; }
  [[nodiscard]] Size columns() const { return (result.width + side - 1) / side; }
  [[nodiscard]] Size count() const { return result.batch * rows() * columns(); }
  [[nodiscard]] Place place(Size tile) const {
    const Size in_sample = rows() * columns();
    const Size rest = tile % in_sample;
    return {.sample = tile / in_sample,
            .row = rest / columns() * side,
            .column = rest % columns() * side};
  }
};

[[nodiscard]] inline Tiles forward_tiles(const Conv2dSpec& spec, Size side) {
  return {.image = spec.input,
          .result = spec.output(),
          .padding = {.height = spec.window.padding_height, .width = spec.window.padding_width},
          .side = side};
}

/// The gradient of x is a convolution too, of the gradient of y with the windows turned by half a
/// turn.
[[nodiscard]] inline Tiles data_tiles(const Conv2dSpec& spec, Size side) {
  return {
      .image = spec.output(),
      .result = spec.input,
      .padding = {.height = 2 - spec.window.padding_height, .width = 2 - spec.window.padding_width},
      .side = side};
}

}  // namespace ptbench::winograd

#pragma once

#include <vector>

#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench::flat {

/// Every pixel of every sample of an output on one line, with gaps of zeros behind rows and samples
/// that are wide enough for each tap of the window to be an offset on it.
struct Line {
  Size batch = 0;
  Size width = 0;  ///< positions of a row
  Size rows = 0;   ///< of a sample
  [[nodiscard]] Size positions() const { return batch * rows * width; }
};

/// Every s-th pixel of the input, for stride s, from (row, column) on.
struct Phase {
  Size row = 0;
  Size column = 0;
  friend bool operator==(const Phase&, const Phase&) = default;
};

/// A place of the window: what it reads for output position f lies at f + offset of that phase.
struct Tap {
  std::size_t phase = 0;
  Size offset = 0;
};

/// Positions that follow one another in a row: pixels `step` elements apart, or a gap.
struct Run {
  Size begin = 0;  ///< position
  Size count = 0;
  const Bf16* pixels = nullptr;  ///< the first one's channels; null: a gap, or beyond both ends
  Size step = 0;
};

/// Images of channels last, as they lie on the line.
struct Image {
  Size batch = 0;
  Size height = 0;
  Size width = 0;
  Size channels = 0;
  Size stride_height = 1;
  Size stride_width = 1;
  Phase phase = {};

  /// What lies from `position` on, and not beyond `end`.
  [[nodiscard]] Run run_at(const Line& line, const Bf16* pixels, Size position, Size end) const;
};

/// How a convolution is an addition of products along the line.
struct Geometry {
  Line line;
  std::vector<Phase> phases;
  std::vector<Tap> taps;  ///< row-major, as the window
  Size least_offset = 0;  ///< of all taps
  Size most_offset = 0;
  Image input;  ///< of phase 0, 0
  Image output;
};

/// Of the spec's input and output, whatever their channels are.
[[nodiscard]] Geometry geometry_of(const Conv2dSpec& spec);

}  // namespace ptbench::flat

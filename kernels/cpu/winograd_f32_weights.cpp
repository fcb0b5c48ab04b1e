// The gradients of W and of the biases from x and the gradient of y.
#include <algorithm>

#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_f32.h"
#include "kernels/cpu/winograd_f32_gradients.h"
#include "kernels/cpu/winograd_f32_transforms.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/error.h"

#if defined(__x86_64__)

namespace ptbench {
namespace {

using namespace winograd_f32;
using winograd::forward_tiles;
using winograd::Place;
using winograd::Tiles;

/// Products of transformed patches and gradients, summed over all tiles; pair by pair of the
/// points' rows, so that what a pair needs stays in the core's own cache.
class WeightGradient {
 public:
  explicit WeightGradient(const Tiles& tiles)
      : tiles_(tiles),
        inputs_(padded_channels(tiles.image.channels)),
        outputs_(padded_channels(tiles.result.channels)) {
    // Chunks of few tiles read and write the sums often; one chunk needs sums of one block only.
    constexpr Size kChunk = 64;
    chunk_ = tiles.count() <= 2 * kChunk ? tiles.count() : kChunk;
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    const Size sums = one_chunk() ? kColumns * kBlock * kBlock : inputs_ * outputs_;
    return static_cast<Bytes>(kPointsOfPair * (patches_of_point() + spread_of_point() + sums)) *
           sizeof(float);
  }

  void run(const float* image, const float* gradient, float* weights, std::byte* scratch) const {
    auto* patches = reinterpret_cast<float*>(scratch);
    const Memory memory{.image = image,
                        .gradient = gradient,
                        .weights = weights,
                        .patches = patches,
                        .spread = patches + kPointsOfPair * patches_of_point(),
                        .sums = patches + kPointsOfPair * (patches_of_point() + spread_of_point())};
    multiply_points<0>(memory);
    multiply_points<1>(memory);
    multiply_points<2>(memory);
  }

 private:
  static constexpr auto kRows = static_cast<Size>(kGradientRows);
  static constexpr auto kColumns = static_cast<Size>(kGradientColumns);

  template <int Pair>
  struct Spread {
    [[PTBENCH_AVX512]] static void transform_window(const PlaneWindow& window, float* to,
                                                    Size stride) {
      transform<GradientTransform, Pair, 1>(window, to, stride);
    }
  };

  struct Memory {
    const float* image;
    const float* gradient;
    float* weights;
    float* patches;  ///< points × blocks of inputs × tiles × 16
    float* spread;   ///< gradients: points × each 32 outputs × tiles × 32
    float* sums;     ///< blocks of inputs × each 32 outputs × points × 16 × 32
  };

  [[nodiscard]] Size patches_of_point() const { return spaced(chunk_ * inputs_); }
  [[nodiscard]] Size spread_of_point() const { return spaced(chunk_ * outputs_); }
  [[nodiscard]] bool one_chunk() const { return chunk_ >= tiles_.count(); }

  template <int Pair>
  void multiply_points(const Memory& memory) const {
    for (Size begin = 0; begin < tiles_.count(); begin += chunk_) {
      const Range tiles{begin, std::min(begin + chunk_, tiles_.count())};
      cut<Pair>(memory, tiles);
      spread_gradients<Spread<Pair>>(tiles_, tiles, chunk_, memory.gradient, memory.spread,
                                     spread_of_point());
      constexpr Size kTogether = 4;  // blocks of inputs, which find the gradients in the cache
      const Size inputs = inputs_ / kBlock;
      for (Size first = 0; first < inputs; first += kTogether)
        for (Size output = 0; output < outputs_ / kBlock; output += kColumns)
          for (Size input = first; input < std::min(first + kTogether, inputs); ++input)
            multiply_block<Pair>(memory, tiles, input, output);
    }
  }

  template <int Pair>
  void multiply_block(const Memory& memory, Range tiles, Size input, Size output) const {
    const Size columns = std::min(kColumns, outputs_ / kBlock - output);
    float* sums = memory.sums;
    if (!one_chunk()) sums += (input * outputs_ + output * kBlock) * kBlock * kPointsOfPair;
    const auto multiply = gradient_product(columns);
    for (Size point = 0; point < kPointsOfPair; ++point)
      for (Size row = 0; row < kBlock; row += kRows) {
        const float* patches =
            memory.patches + point * patches_of_point() + input * kBlock * chunk_ + row;
        const float* gradients =
            memory.spread + point * spread_of_point() + output * kBlock * chunk_;
        multiply(tiles.size(), patches, gradients, sums + (point * kBlock + row) * columns * kBlock,
                 tiles.begin > 0);
      }
    if (tiles.end < tiles_.count()) return;
    for (Size column = 0; column < columns; ++column)
      put<Pair>(sums + column * kBlock, columns * kBlock,
                memory.weights + ((output + column) * (inputs_ / kBlock) + input) * kWeightBlock);
  }

  /// Transforms the patches of x.
  template <int Pair>
  [[PTBENCH_AVX512]] void cut(const Memory& memory, Range tiles) const {
    const Planes planes(tiles_.image, ImageOrder::blocked);
    for (Size block = 0; block < inputs_ / kBlock; ++block)
      for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
        const Place at = tiles_.place(tile);
        const PlaneWindow window(memory.image + planes.offset(at.sample, block), tiles_.image,
                                 at.row - tiles_.padding.height, at.column - tiles_.padding.width);
        transform<PatchTransform, Pair, 1>(
            window, memory.patches + (block * chunk_ + tile - tiles.begin) * kBlock,
            patches_of_point());
      }
  }

  /// What this pair of rows of points gives for the windows of 16 inputs and 16 outputs.
  template <int Pair>
  [[PTBENCH_AVX512]] static void put(const float* sums, Size stride, float* to) {
    for (Size input = 0; input < kBlock; ++input) {
      __m512 t[kWindow][kPatch];
#pragma GCC unroll 6
      for (Size column = 0; column < kPatch; ++column) {
        const float* first = sums + (column * kBlock + input) * stride;
        __m512 g[kWindow];
        gather_weights_of_pair<Pair>({.first = _mm512_loadu_ps(first),
                                      .second = _mm512_loadu_ps(first + kPatch * kBlock * stride)},
                                     g);
#pragma GCC unroll 3
        for (Size row = 0; row < kWindow; ++row) t[row][column] = g[row];
      }
#pragma GCC unroll 3
      for (Size row = 0; row < kWindow; ++row) {
        __m512 g[kWindow];
        gather_weights(t[row], g);
#pragma GCC unroll 3
        for (Size column = 0; column < kWindow; ++column) {
          float* tap = to + ((row * kWindow + column) * kBlock + input) * kBlock;
          _mm512_storeu_ps(tap,
                           Pair == 0 ? g[column] : _mm512_add_ps(g[column], _mm512_loadu_ps(tap)));
        }
      }
    }
  }

  Tiles tiles_;
  Size inputs_;   ///< channels of x, padded
  Size outputs_;  ///< channels of y, padded
  Size chunk_;    ///< tiles
};

}  // namespace

Bytes winograd_f32_weights_scratch(const Conv2dSpec& spec) {
  return WeightGradient(forward_tiles(spec, kTile)).scratch_bytes();
}

void winograd_f32_weights(const Conv2dSpec& spec, const float* x, const float* y_gradient,
                          float* weight_gradient, float* bias_gradient, std::byte* scratch) {
  WeightGradient(forward_tiles(spec, kTile)).run(x, y_gradient, weight_gradient, scratch);
  if (spec.bias) sum_up(spec.output(), y_gradient, bias_gradient);
}

}  // namespace ptbench

#else

namespace ptbench {

Bytes winograd_f32_weights_scratch(const Conv2dSpec& /*spec*/) { return 0; }
void winograd_f32_weights(const Conv2dSpec& /*spec*/, const float* /*x*/,
                          const float* /*y_gradient*/, float* /*weight_gradient*/,
                          float* /*bias_gradient*/, std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}

}  // namespace ptbench

#endif

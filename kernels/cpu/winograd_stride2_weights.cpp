// The gradients of W and of the biases from x and the gradient of y.
#include <algorithm>

#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_f32_gradients.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "kernels/cpu/winograd_stride2.h"
#include "kernels/cpu/winograd_stride2_transforms.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/error.h"

#if defined(__x86_64__)

namespace ptbench {
namespace {

namespace stride2 = winograd_stride2;
using winograd::Place;
using winograd::Tiles;
using winograd_f32::kBlock;
using winograd_f32::kWeightBlock;
using winograd_f32::kWindow;
using winograd_f32::PlaneWindow;
using winograd_f32::spaced;

/// Products of transformed patches and gradients, summed over all tiles and, where they share their
/// weights, over the products of the middle tap; in groups of rows, so that what a group needs
/// stays near.
class Stride2WeightGradient {
 public:
  explicit Stride2WeightGradient(const Conv2dSpec& spec)
      : tiles_({.image = spec.input, .result = spec.output(), .side = stride2::kTile}),
        inputs_(padded_channels(tiles_.image.channels)),
        outputs_(padded_channels(tiles_.result.channels)) {
    // Chunks of few tiles read and write the sums often; one chunk needs sums of few blocks.
    constexpr Size kChunk = 64;
    chunk_ = tiles_.count() <= 2 * kChunk ? tiles_.count() : kChunk;
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    const Size sums = one_chunk() ? kTogether * kColumns * kBlock * kBlock : inputs_ * outputs_;
    return static_cast<Bytes>(kMostProducts * (patches_of_product() + spread_of_product()) +
                              kMostMatrices * sums) *
           sizeof(float);
  }

  void run(const float* image, const float* gradient, float* weights, std::byte* scratch) const {
    auto* patches = reinterpret_cast<float*>(scratch);
    const Memory memory{
        .image = image,
        .gradient = gradient,
        .weights = weights,
        .patches = patches,
        .spread = patches + kMostProducts * patches_of_product(),
        .sums = patches + kMostProducts * (patches_of_product() + spread_of_product())};
    multiply_rows<stride2::Ends>(memory);
    multiply_rows<stride2::Inner>(memory);
    multiply_rows<stride2::Middle>(memory);
  }

 private:
  static constexpr auto kRows = static_cast<Size>(winograd_f32::kGradientRows);
  static constexpr auto kColumns = static_cast<Size>(winograd_f32::kGradientColumns);
  static constexpr Size kTogether = 4;  ///< blocks of inputs that are multiplied in one go
  static constexpr Size kMostProducts = stride2::Middle::kCount * stride2::kProducts;
  static constexpr Size kMostMatrices = stride2::Inner::kMatrixCount * stride2::kMatrices;

  template <class Rows>
  struct Spread {
    [[PTBENCH_AVX512]] static void transform_window(const PlaneWindow& window, float* to,
                                                    Size stride) {
      stride2::transform<stride2::GradientTransform, Rows::kFirst, Rows::kCount>(window, to,
                                                                                 stride);
    }
  };

  struct Memory {
    const float* image;
    const float* gradient;
    float* weights;
    float* patches;  ///< products × blocks of inputs × tiles × 16
    float* spread;   ///< gradients: products × each 32 outputs × tiles × 32
    float* sums;     ///< blocks of inputs × each 32 outputs × matrices × 16 × 32
  };

  [[nodiscard]] Size patches_of_product() const { return spaced(chunk_ * inputs_); }
  [[nodiscard]] Size spread_of_product() const { return spaced(chunk_ * outputs_); }
  [[nodiscard]] bool one_chunk() const { return chunk_ >= tiles_.count(); }

  template <class Rows>
  void multiply_rows(const Memory& memory) const {
    for (Size begin = 0; begin < tiles_.count(); begin += chunk_) {
      const Range tiles{begin, std::min(begin + chunk_, tiles_.count())};
      cut<Rows>(memory, tiles);
      winograd_f32::spread_gradients<Spread<Rows>>(tiles_, tiles, chunk_, memory.gradient,
                                                   memory.spread, spread_of_product());
      const Size inputs = inputs_ / kBlock;
      for (Size first = 0; first < inputs; first += kTogether)
        for (Size output = 0; output < outputs_ / kBlock; output += kColumns)
          multiply_blocks<Rows>(memory, tiles, {first, std::min(first + kTogether, inputs)},
                                output);
    }
  }

  /// Of blocks of inputs, which find a product's gradients in the nearest cache one after the
  /// other.
  template <class Rows>
  void multiply_blocks(const Memory& memory, Range tiles, Range inputs, Size output) const {
    constexpr Size kMatrices = Rows::kMatrixCount * stride2::kMatrices;
    const Size columns = std::min(kColumns, outputs_ / kBlock - output);
    const auto multiply = winograd_f32::gradient_product(columns);
    const auto sums = [&](Size input) {
      const Size block = kMatrices * kBlock * columns * kBlock;
      if (one_chunk()) return memory.sums + (input - inputs.begin) * block;
      return memory.sums + (input * outputs_ + output * kBlock) * kBlock * kMatrices;
    };
    for (Size i = 0; i < Rows::kCount * stride2::kProducts; ++i) {
      const Size matrix_row = stride2::matrix_of(Rows::kFirst + i / stride2::kProducts);
      const Size column = i % stride2::kProducts;
      const Size matrix =
          (matrix_row - Rows::kFirstMatrix) * stride2::kMatrices + stride2::matrix_of(column);
      const bool adds = tiles.begin > 0 || column > stride2::kMiddle ||
                        (Rows::kFirst == stride2::kMiddle && i >= stride2::kProducts);
      const float* gradients = memory.spread + i * spread_of_product() + output * kBlock * chunk_;
      for (Size input = inputs.begin; input < inputs.end; ++input)
        for (Size row = 0; row < kBlock; row += kRows)
          multiply(tiles.size(),
                   memory.patches + i * patches_of_product() + input * kBlock * chunk_ + row,
                   gradients, sums(input) + (matrix * kBlock + row) * columns * kBlock, adds);
    }
    if (tiles.end < tiles_.count()) return;
    for (Size input = inputs.begin; input < inputs.end; ++input)
      for (Size column = 0; column < columns; ++column)
        put<Rows>(sums(input) + column * kBlock, columns * kBlock,
                  memory.weights + ((output + column) * (inputs_ / kBlock) + input) * kWeightBlock);
  }

  /// Transforms the patches of x.
  template <class Rows>
  [[PTBENCH_AVX512]] void cut(const Memory& memory, Range tiles) const {
    const Planes planes(tiles_.image, ImageOrder::blocked);
    for (Size block = 0; block < inputs_ / kBlock; ++block)
      for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
        const Place at = tiles_.place(tile);
        const PlaneWindow window(memory.image + planes.offset(at.sample, block), tiles_.image,
                                 2 * at.row - 1, 2 * at.column - 1);
        stride2::transform<stride2::PatchTransform<false>, Rows::kFirst, Rows::kCount>(
            window, memory.patches + (block * chunk_ + tile - tiles.begin) * kBlock,
            patches_of_product());
      }
  }

  /// What these rows give for the windows of 16 inputs and 16 outputs.
  template <class Rows>
  [[PTBENCH_AVX512]] static void put(const float* sums, Size stride, float* to) {
    constexpr auto kCount = static_cast<std::size_t>(Rows::kMatrixCount);
    constexpr Size kTap = kBlock * kBlock;
    for (Size input = 0; input < kBlock; ++input, to += kBlock) {
      __m512 t[kCount][3];  // rows of products × columns of taps
#pragma GCC unroll 3
      for (std::size_t row = 0; row < kCount; ++row) {
        __m512 m[6];
#pragma GCC unroll 6
        for (std::size_t column = 0; column < 6; ++column)
          m[column] = _mm512_loadu_ps(
              sums + (static_cast<Size>(row * 6 + column) * kBlock + input) * stride);
        stride2::gather_weights(m, t[row]);
      }
#pragma GCC unroll 3
      for (std::size_t column = 0; column < 3; ++column) {
        float* first = to + static_cast<Size>(column) * kTap;
        float* last = first + 2 * kWindow * kTap;
        if constexpr (Rows::kFirst == stride2::Ends::kFirst) {
          _mm512_storeu_ps(first, avx512::times(stride2::kScaleZero, t[0][column]));
          _mm512_storeu_ps(last, t[1][column]);
        } else if constexpr (Rows::kFirst == stride2::Inner::kFirst) {
          stride2::Taps inner =
              stride2::gather_inner_weights(t[0][column], t[1][column], t[2][column]);
          _mm512_storeu_ps(first, _mm512_add_ps(inner.first, _mm512_loadu_ps(first)));
          _mm512_storeu_ps(last, _mm512_add_ps(inner.last, _mm512_loadu_ps(last)));
        } else {
          _mm512_storeu_ps(first + kWindow * kTap, t[0][column]);
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

Bytes winograd_stride2_weights_scratch(const Conv2dSpec& spec) {
  return Stride2WeightGradient(spec).scratch_bytes();
}

void winograd_stride2_weights(const Conv2dSpec& spec, const float* x, const float* y_gradient,
                              float* weight_gradient, float* bias_gradient, std::byte* scratch) {
  Stride2WeightGradient(spec).run(x, y_gradient, weight_gradient, scratch);
  if (spec.bias) winograd_f32::sum_up(spec.output(), y_gradient, bias_gradient);
}

}  // namespace ptbench

#else

namespace ptbench {

Bytes winograd_stride2_weights_scratch(const Conv2dSpec& /*spec*/) { return 0; }
void winograd_stride2_weights(const Conv2dSpec& /*spec*/, const float* /*x*/,
                              const float* /*y_gradient*/, float* /*weight_gradient*/,
                              float* /*bias_gradient*/, std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}

}  // namespace ptbench

#endif

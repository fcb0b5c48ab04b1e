// y from x and W, and the gradient of x from that of y and W: both filter an image.
#include <algorithm>

#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_f32_products.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "kernels/cpu/winograd_stride2.h"
#include "kernels/cpu/winograd_stride2_transforms.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/error.h"

#if defined(__x86_64__)

namespace ptbench {
namespace {

namespace stride2 = winograd_stride2;
using stride2::Ends;
using stride2::Inner;
using stride2::Middle;
using winograd::Place;
using winograd::Tiles;
using winograd_f32::Addends;
using winograd_f32::exchange_channels;
using winograd_f32::kBlock;
using winograd_f32::kWeightBlock;
using winograd_f32::kWindow;
using winograd_f32::Multiply;
using winograd_f32::PlaneWindow;
using winograd_f32::spaced;
using winograd_f32::WindowColumns;

/// Filters a native image: x, or where `Data` the gradient of y. Tiles go in chunks, whose
/// transformed patches stay near, and in three groups of rows of products, for which the weights of
/// 32 outputs at a time are transformed anew.
template <bool Data>
class Stride2Filter {
 public:
  explicit Stride2Filter(const Conv2dSpec& spec)
      : tiles_({.image = Data ? spec.output() : spec.input,
                .result = Data ? spec.input : spec.output(),
                .side = kSide}),
        inputs_(padded_channels(tiles_.image.channels)),
        outputs_(padded_channels(tiles_.result.channels)) {
    // Of which a core's own cache holds 1 or 2 MiB; measured, and flat about this value.
    constexpr Size kPatches = Size{3} << 19U;
    constexpr Size kFewestStrips = 2;
    const Size tile = kMostProducts * inputs_ * Size{sizeof(float)};
    const Size most = std::max(kPatches / tile / kStrip, kFewestStrips) * kStrip;
    const Size chunks = (tiles_.count() + most - 1) / most;
    const Size chunk = (tiles_.count() + chunks - 1) / chunks;
    strips_ = (chunk + kStrip - 1) / kStrip;
    strip_ = (chunk + strips_ - 1) / strips_;
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    return static_cast<Bytes>(patches_size() + weights_size() +
                              kMostProducts * strip_ * kTogether) *
           sizeof(float);
  }

  // NOLINTNEXTLINE(readability-non-const-parameter): it is written through `memory`
  void run(const float* image, const float* weights, const Addends& addends, float* result,
           std::byte* scratch) const {
    auto* patches = reinterpret_cast<float*>(scratch);
    const Memory memory{.image = image,
                        .weights = weights,
                        .result = result,
                        .patches = patches,
                        .transformed = patches + patches_size(),
                        .sums = patches + patches_size() + weights_size()};
    for (Size begin = 0; begin < tiles_.count(); begin += chunk()) {
      const Range part{begin, std::min(begin + chunk(), tiles_.count())};
      multiply_rows<Middle>(memory, part, addends);  // all results, or every other row of them
      multiply_rows<Inner>(memory, part, addends);
      multiply_rows<Ends>(memory, part, addends);
    }
  }

 private:
  static constexpr Size kSide = Data ? 2 * stride2::kTile : stride2::kTile;  ///< results of a tile
  static constexpr auto kStrip = static_cast<Size>(winograd_f32::kMostRows);
  static constexpr auto kColumns = static_cast<Size>(winograd_f32::kMostColumns);
  static constexpr Size kTogether = kColumns * kBlock;  ///< outputs
  static constexpr Size kMostProducts = Middle::kCount * stride2::kProducts;
  static constexpr Size kMostMatrices = Inner::kMatrixCount * stride2::kMatrices;

  struct Memory {
    const float* image;
    const float* weights;
    float* result;
    float* patches;      ///< products × strips × blocks of inputs × tiles of a strip × 16
    float* transformed;  ///< weights: matrices × inputs × 32 outputs
    float* sums;         ///< tiles of a strip × products × 32 outputs
  };

  [[nodiscard]] Size chunk() const { return strips_ * strip_; }
  [[nodiscard]] Size patches_of_product() const { return spaced(chunk() * inputs_); }
  [[nodiscard]] Size weights_of_matrix() const { return spaced(inputs_ * kTogether); }
  [[nodiscard]] Size patches_size() const { return kMostProducts * patches_of_product(); }
  [[nodiscard]] Size weights_size() const { return kMostMatrices * weights_of_matrix(); }

  template <class Rows>
  void multiply_rows(const Memory& memory, Range tiles, const Addends& addends) const {
    constexpr Size kProducts = Rows::kCount * stride2::kProducts;
    const Size strips = (tiles.size() + strip_ - 1) / strip_;
    cut<Rows>(memory, tiles, strips);
    const Size blocks = outputs_ / kBlock;
    for (Size block = 0; block < blocks; block += kColumns) {
      const Size columns = std::min(kColumns, blocks - block);
      transform_weights<Rows>(memory, block, columns);
      const Multiply product = winograd_f32::kProducts[static_cast<std::size_t>(columns - 1)]
                                                      [static_cast<std::size_t>(strip_ - 1)];
      for (Size strip = 0; strip < strips; ++strip) {
        for (Size i = 0; i < kProducts; ++i) {
          const Size row = stride2::matrix_of(Rows::kFirst + i / stride2::kProducts);
          const Size matrix = (row - Rows::kFirstMatrix) * stride2::kMatrices +
                              stride2::matrix_of(i % stride2::kProducts);
          product(inputs_ / kBlock,
                  memory.patches + i * patches_of_product() + strip * strip_ * inputs_,
                  memory.transformed + matrix * weights_of_matrix(),
                  memory.sums + i * columns * kBlock, kProducts * columns * kBlock);
        }
        const Size begin = tiles.begin + strip * strip_;
        put<Rows>(memory, {begin, std::min(begin + strip_, tiles.end)}, block, columns, addends);
      }
    }
  }

  /// Transforms the patches; a strip's tiles that do not exist are zero.
  template <class Rows>
  [[PTBENCH_AVX512]] void cut(const Memory& memory, Range tiles, Size strips) const {
    const Planes planes(tiles_.image, ImageOrder::blocked);
    const Size product = patches_of_product();
    for (Size tile = 0; tile < strips * strip_; ++tile) {
      float* to = memory.patches + tile / strip_ * strip_ * inputs_ + tile % strip_ * kBlock;
      const bool there = tile < tiles.size();
      const Place at = tiles_.place(there ? tiles.begin + tile : tiles.begin);
      const Size top = Data ? at.row / 2 : 2 * at.row - 1;
      const Size left = Data ? at.column / 2 : 2 * at.column - 1;
      for (Size block = 0; block < inputs_ / kBlock; ++block, to += strip_ * kBlock) {
        if (!there) {
          for (Size i = 0; i < Rows::kCount * stride2::kProducts; ++i)
            _mm512_storeu_ps(to + i * product, _mm512_setzero_ps());
          continue;
        }
        const PlaneWindow window(memory.image + planes.offset(at.sample, block), tiles_.image, top,
                                 left);
        stride2::transform<stride2::PatchTransform<Data>, Rows::kFirst, Rows::kCount>(window, to,
                                                                                      product);
      }
    }
  }

  /// Transforms weights of `columns` blocks of outputs from `first` on.
  template <class Rows>
  [[PTBENCH_AVX512]] void transform_weights(const Memory& memory, Size first, Size columns) const {
    const Size inputs = inputs_ / kBlock;
    alignas(64) float turned[kWeightBlock] = {};  // these rows' taps are taken from it
    for (Size column = 0; column < columns; ++column)
      for (Size input = 0; input < inputs; ++input) {
        const Size output = first + column;
        const float* block =
            memory.weights +
            (Data ? input * (outputs_ / kBlock) + output : output * inputs + input) * kWeightBlock;
        if constexpr (Data) {
          if constexpr (Rows::kFirst == Middle::kFirst) {
            exchange_channels(block, {kWindow, 2 * kWindow}, turned);
          } else {
            exchange_channels(block, {0, kWindow}, turned);
            exchange_channels(block, {2 * kWindow, 3 * kWindow}, turned);
          }
          block = turned;
        }
        for (Size channel = 0; channel < kBlock; ++channel)
          stride2::transform<stride2::WeightTransform, Rows::kFirstMatrix, Rows::kMatrixCount>(
              WindowColumns(block, channel, Data),
              memory.transformed + ((input * kBlock + channel) * columns + column) * kBlock,
              weights_of_matrix());
      }
  }

  /// Adds what these rows give to the results of `columns` blocks of outputs from `first` on, or
  /// writes what no other rows before them gave.
  template <class Rows>
  [[PTBENCH_AVX512]] void put(const Memory& memory, Range tiles, Size first, Size columns,
                              const Addends& addends) const {
    const Planes planes(tiles_.result, ImageOrder::blocked);
    for (Size tile = tiles.begin; tile < tiles.end; ++tile) {
      const Place at = tiles_.place(tile);
      for (Size column = 0; column < columns; ++column) {
        const Size block = first + column;
        const Target target{.to = memory.result + planes.offset(at.sample, block) +
                                  (at.row * tiles_.result.width + at.column) * kBlock,
                            .row = tiles_.result.width * kBlock,
                            .height = std::min(kSide, tiles_.result.height - at.row),
                            .width = std::min(kSide, tiles_.result.width - at.column)};
        const float* sums =
            memory.sums +
            ((tile - tiles.begin) * Rows::kCount * stride2::kProducts * columns + column) * kBlock;
        put_tile<Rows>(sums, columns * kBlock, target, addends.bias_of(tiles_.result, block),
                       addends.present);
      }
    }
  }

  /// A tile of one plane of the result.
  struct Target {
    float* to;
    Size row;  ///< floats
    Size height;
    Size width;  ///< of what is in the image
  };

  template <class Rows>
  [[PTBENCH_AVX512]] static void put_tile(const float* sums, Size stride, const Target& target,
                                          __m512 bias, bool present) {
    constexpr auto kRows = static_cast<std::size_t>(Rows::kCount);
    constexpr auto kResults = static_cast<std::size_t>(kSide);
    __m512 t[kRows][kResults];
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kRows; ++row) {
      __m512 m[9];
#pragma GCC unroll 9
      for (std::size_t column = 0; column < 9; ++column)
        m[column] = _mm512_loadu_ps(sums + static_cast<Size>(row * 9 + column) * stride);
      stride2::gather<Data>(m, t[row]);
    }
    constexpr Size kStep = Data ? 2 : 1;
    constexpr Size kOuter = Data ? 1 : 0;  // the first of the outer taps' rows
    if constexpr (Rows::kFirst == Middle::kFirst) {
#pragma GCC unroll 4
      for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
        for (__m512& value : t[row]) value = _mm512_add_ps(value, bias);
        put_row(target, static_cast<Size>(row) * kStep, t[row], present);
      }
    } else if constexpr (Rows::kFirst == Inner::kFirst) {
      __m512 y[4][kResults];
#pragma GCC unroll 8
      for (std::size_t column = 0; column < kResults; ++column) {
        __m512 gathered[4];
        stride2::gather_inner(t[0][column], t[1][column], t[2][column], gathered);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < 4; ++row) y[row][column] = gathered[row];
      }
#pragma GCC unroll 4
      for (std::size_t row = 0; row < 4; ++row)
        put_row(target, static_cast<Size>(row) * kStep + kOuter, y[row], !Data);
    } else {
      put_row(target, kOuter, t[0], true);
      put_row(target, 3 * kStep + kOuter, t[1], true);
    }
  }

  /// Those pixels of a row that are in the image; added to what is there where `add`.
  template <std::size_t Width>
  [[PTBENCH_AVX512]] static void put_row(const Target& target, Size row,
                                         const __m512 (&values)[Width], bool add) {
    if (row >= target.height) return;
    float* pixel = target.to + row * target.row;
#pragma GCC unroll 8
    for (std::size_t column = 0; column < Width; ++column, pixel += kBlock) {
      if (static_cast<Size>(column) >= target.width) break;
      _mm512_storeu_ps(
          pixel, add ? _mm512_add_ps(values[column], _mm512_loadu_ps(pixel)) : values[column]);
    }
  }

  Tiles tiles_;
  Size inputs_;   ///< channels of the image, padded
  Size outputs_;  ///< channels of the result, padded
  Size strips_;   ///< of a chunk
  Size strip_;    ///< tiles that are multiplied in one go
};

}  // namespace

Bytes winograd_stride2_forward_scratch(const Conv2dSpec& spec) {
  return Stride2Filter<false>(spec).scratch_bytes();
}

Bytes winograd_stride2_data_scratch(const Conv2dSpec& spec) {
  return Stride2Filter<true>(spec).scratch_bytes();
}

void winograd_stride2_forward(const Conv2dSpec& spec, const float* x, const float* weights,
                              const float* bias, float* y, std::byte* scratch) {
  Stride2Filter<false>(spec).run(
      x, weights, {.bias = spec.bias ? bias : nullptr, .present = spec.add}, y, scratch);
}

void winograd_stride2_data(const Conv2dSpec& spec, const float* y_gradient, const float* weights,
                           float* x_gradient, std::byte* scratch) {
  Stride2Filter<true>(spec).run(y_gradient, weights, {}, x_gradient, scratch);
}

}  // namespace ptbench

#else

namespace ptbench {

Bytes winograd_stride2_forward_scratch(const Conv2dSpec& /*spec*/) { return 0; }
Bytes winograd_stride2_data_scratch(const Conv2dSpec& /*spec*/) { return 0; }
void winograd_stride2_forward(const Conv2dSpec& /*spec*/, const float* /*x*/,
                              const float* /*weights*/, const float* /*bias*/, float* /*y*/,
                              std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}
void winograd_stride2_data(const Conv2dSpec& /*spec*/, const float* /*y_gradient*/,
                           const float* /*weights*/, float* /*x_gradient*/,
                           std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}

}  // namespace ptbench

#endif

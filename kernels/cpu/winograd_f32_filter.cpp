// y from x and W, and the gradient of x from that of y and W: both filter an image.
#include <algorithm>

#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_f32.h"
#include "kernels/cpu/winograd_f32_products.h"
#include "kernels/cpu/winograd_f32_transforms.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/error.h"
#include "src/device/isa.h"

#if defined(__x86_64__)

namespace ptbench {
namespace {

using namespace winograd_f32;
using winograd::data_tiles;
using winograd::forward_tiles;
using winograd::Place;
using winograd::Tiles;

/// Filters a native image. Tiles go in chunks, whose transformed patches stay near. Few weights are
/// transformed once and kept. Of more, one pair of rows of points and 32 outputs at a time are, so
/// that no memory holds what is four times as large as all weights; they are transformed anew for
/// each chunk, which has more tiles therefore.
class Filter {
 public:
  Filter(const Tiles& tiles, bool turned)
      : tiles_(tiles),
        turned_(turned),
        inputs_(padded_channels(tiles.image.channels)),
        outputs_(padded_channels(tiles.result.channels)) {
    // Bytes, of which a core's own cache holds 1 or 2 MiB; measured, and flat about these values.
    constexpr Size kKept = Size{3} << 20U;  // weights and the patches that go with them
    constexpr Size kPatchesBesideKept = Size{400} << 10U;
    constexpr Size kPatchesOfPair = Size{7} << 18U;
    constexpr Size kFewestStrips = 2;
    const auto bytes = [](Size floats) { return floats * Size{sizeof(float)}; };
    keeps_ = bytes(kPoints * inputs_ * (outputs_ + kFewestStrips * kStrip)) <= kKept;
    points_ = keeps_ ? kPoints : kPointsOfPair;
    const Size cache = keeps_ ? kPatchesBesideKept : kPatchesOfPair;
    const Size most = std::max(cache / bytes(points_ * inputs_) / kStrip, kFewestStrips) * kStrip;
    const Size chunk = std::min(most, tiles.count());
    strips_ = (chunk + kStrip - 1) / kStrip;
    strip_ = (chunk + strips_ - 1) / strips_;
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    return static_cast<Bytes>(patches_size() + weights_size() + sums_size()) * sizeof(float);
  }

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
      if (keeps_) {
        multiply_points<0, kPairs>(memory, part, addends);
      } else {
        multiply_points<0, 1>(memory, part, addends);
        multiply_points<1, 1>(memory, part, addends);
        multiply_points<2, 1>(memory, part, addends);
      }
    }
  }

 private:
  static constexpr auto kStrip = static_cast<Size>(kMostRows);
  static constexpr auto kColumns = static_cast<Size>(kMostColumns);

  struct Memory {
    const float* image;
    const float* weights;
    float* result;
    float* patches;      ///< points × strips × blocks of inputs × tiles of a strip × 16
    float* transformed;  ///< weights: of 32 outputs, points × inputs × 32
    float* sums;         ///< of 32 outputs, tiles × all points × 32
  };

  [[nodiscard]] Size chunk() const { return strips_ * strip_; }
  [[nodiscard]] Size patches_size() const { return points_ * spaced(chunk() * inputs_); }
  [[nodiscard]] Size weights_size() const {
    const Size blocks = keeps_ ? (outputs_ / kBlock + kColumns - 1) / kColumns : Size{1};
    return blocks * points_ * spaced(inputs_ * kColumns * kBlock);
  }
  [[nodiscard]] Size sums_size() const {
    return kPoints * chunk() * (keeps_ ? kColumns * kBlock : outputs_);
  }

  /// Products at `Count` pairs of rows of points, the first being `First`; after the last pair of
  /// all, the results.
  template <int First, int Count>
  void multiply_points(const Memory& memory, Range tiles, const Addends& addends) const {
    constexpr Size kFirstPoint = First * kPointsOfPair;
    const Size strips = (tiles.size() + strip_ - 1) / strip_;
    cut<First, Count>(memory, tiles, strips);
    const Size blocks = outputs_ / kBlock;
    const Size patches_of_point = spaced(chunk() * inputs_);
    const Size weights_of_point = spaced(inputs_ * kColumns * kBlock);
    for (Size block = 0; block < blocks; block += kColumns) {
      const Size columns = std::min(kColumns, blocks - block);
      float* transformed =
          memory.transformed + (keeps_ ? block / kColumns * points_ * weights_of_point : Size{0});
      if (!keeps_ || tiles.begin == 0)
        transform_weights<First, Count>(memory.weights, block, columns, transformed);
      float* sums = memory.sums + (keeps_ ? Size{0} : kPoints * chunk() * block * kBlock);
      const Multiply product =
          kProducts[static_cast<std::size_t>(columns - 1)][static_cast<std::size_t>(strip_ - 1)];
      for (Size point = 0; point < Count * kPointsOfPair; ++point)
        for (Size strip = 0; strip < strips; ++strip)
          product(inputs_ / kBlock,
                  memory.patches + point * patches_of_point + strip * strip_ * inputs_,
                  transformed + point * weights_of_point,
                  sums + (strip * strip_ * kPoints + kFirstPoint + point) * columns * kBlock,
                  kPoints * columns * kBlock);
      if (First + Count == kPairs) put(sums, tiles, block, columns, addends, memory.result);
    }
  }

  /// Transforms the patches; a strip's tiles that do not exist are zero.
  template <int First, int Count>
  [[PTBENCH_AVX512]] void cut(const Memory& memory, Range tiles, Size strips) const {
    const Size point = spaced(chunk() * inputs_);
    for (Size tile = 0; tile < strips * strip_; ++tile) {
      float* to = memory.patches + tile / strip_ * strip_ * inputs_ + tile % strip_ * kBlock;
      const bool there = tile < tiles.size();
      const Place at = tiles_.place(there ? tiles.begin + tile : tiles.begin);
      for (Size block = 0; block < inputs_ / kBlock; ++block, to += strip_ * kBlock) {
        if (!there) {
          for (Size i = 0; i < Count * kPointsOfPair; ++i)
            _mm512_storeu_ps(to + i * point, _mm512_setzero_ps());
          continue;
        }
        const PlaneWindow window(
            memory.image + Planes(tiles_.image, ImageOrder::blocked).offset(at.sample, block),
            tiles_.image, at.row - tiles_.padding.height, at.column - tiles_.padding.width);
        transform<PatchTransform, First, Count>(window, to, point);
      }
    }
  }

  /// Transforms weights of `columns` blocks of outputs from `first` on.
  template <int First, int Count>
  [[PTBENCH_AVX512]] void transform_weights(const float* weights, Size first, Size columns,
                                            float* to) const {
    const Size inputs = inputs_ / kBlock;
    for (Size column = 0; column < columns; ++column)
      for (Size input = 0; input < inputs; ++input) {
        const Size output = first + column;
        alignas(64) float turned[kWeightBlock];
        const float* block =
            weights + (turned_ ? input * (outputs_ / kBlock) + output : output * inputs + input) *
                          kWeightBlock;
        if (turned_) {
          exchange_channels(block, {0, kTaps}, turned);
          block = turned;
        }
        for (Size channel = 0; channel < kBlock; ++channel)
          transform<WeightTransform, First, Count>(
              WindowColumns(block, channel, turned_),
              to + ((input * kBlock + channel) * columns + column) * kBlock,
              spaced(inputs_ * kColumns * kBlock));
      }
  }

  /// Writes the results of `columns` blocks of outputs from `first` on, those that exist.
  [[PTBENCH_AVX512]] void put(const float* sums, Range tiles, Size first, Size columns,
                              const Addends& addends, float* result) const {
    for (Size tile = 0; tile < tiles.size(); ++tile) {
      const Place at = tiles_.place(tiles.begin + tile);
      for (Size column = 0; column < columns; ++column)
        put_tile(sums + tile * kPoints * columns * kBlock + column * kBlock, columns * kBlock, at,
                 first + column, addends, result);
    }
  }

  [[PTBENCH_AVX512]] void put_tile(const float* sums, Size stride, const Place& at, Size block,
                                   const Addends& addends, float* result) const {
    __m512 t[kTile][kPatch];
#pragma GCC unroll 6
    for (Size column = 0; column < kPatch; ++column) {
      __m512 m[kPatch];
      __m512 y[kTile];
#pragma GCC unroll 6
      for (Size row = 0; row < kPatch; ++row)
        m[row] = _mm512_loadu_ps(sums + (row * kPatch + column) * stride);
      gather_outputs(m, y);
#pragma GCC unroll 4
      for (Size row = 0; row < kTile; ++row) t[row][column] = y[row];
    }
    const __m512 bias = addends.bias_of(tiles_.result, block);
    const Size height = std::min(kTile, tiles_.result.height - at.row);
    const Size width = std::min(kTile, tiles_.result.width - at.column);
    float* to = result + Planes(tiles_.result, ImageOrder::blocked).offset(at.sample, block) +
                (at.row * tiles_.result.width + at.column) * kBlock;
#pragma GCC unroll 4
    for (Size row = 0; row < kTile; ++row) {
      __m512 y[kTile];
      gather_outputs(t[row], y);
      if (row >= height) break;
#pragma GCC unroll 4
      for (Size column = 0; column < kTile; ++column) {
        if (column >= width) break;
        float* pixel = to + (row * tiles_.result.width + column) * kBlock;
        const __m512 sum = _mm512_add_ps(y[column], bias);
        _mm512_storeu_ps(pixel, addends.present ? _mm512_add_ps(sum, _mm512_loadu_ps(pixel)) : sum);
      }
    }
  }

  Tiles tiles_;
  bool turned_;
  Size inputs_;   ///< channels of the image, padded
  Size outputs_;  ///< channels of the result, padded
  bool keeps_;    ///< all transformed weights
  Size points_;   ///< that are computed in one go
  Size strips_;   ///< of a chunk
  Size strip_;    ///< tiles that are multiplied in one go
};

}  // namespace

bool has_winograd_f32() { return detect_isa() == Isa::x86_64_v4; }

Bytes winograd_f32_forward_scratch(const Conv2dSpec& spec) {
  return Filter(forward_tiles(spec, kTile), false).scratch_bytes();
}

Bytes winograd_f32_data_scratch(const Conv2dSpec& spec) {
  return Filter(data_tiles(spec, kTile), true).scratch_bytes();
}

void winograd_f32_forward(const Conv2dSpec& spec, const float* x, const float* weights,
                          const float* bias, float* y, std::byte* scratch) {
  Filter(forward_tiles(spec, kTile), false)
      .run(x, weights, {.bias = spec.bias ? bias : nullptr, .present = spec.add}, y, scratch);
}

void winograd_f32_data(const Conv2dSpec& spec, const float* y_gradient, const float* weights,
                       float* x_gradient, std::byte* scratch) {
  Filter(data_tiles(spec, kTile), true).run(y_gradient, weights, {}, x_gradient, scratch);
}

}  // namespace ptbench

#else

namespace ptbench {

bool has_winograd_f32() { return false; }
Bytes winograd_f32_forward_scratch(const Conv2dSpec& /*spec*/) { return 0; }
Bytes winograd_f32_data_scratch(const Conv2dSpec& /*spec*/) { return 0; }
void winograd_f32_forward(const Conv2dSpec& /*spec*/, const float* /*x*/, const float* /*weights*/,
                          const float* /*bias*/, float* /*y*/, std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}
void winograd_f32_data(const Conv2dSpec& /*spec*/, const float* /*y_gradient*/,
                       const float* /*weights*/, float* /*x_gradient*/, std::byte* /*scratch*/) {
  throw Defect("AVX-512 is x86's");
}

}  // namespace ptbench

#endif

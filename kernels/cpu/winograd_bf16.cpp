#include "kernels/cpu/winograd_bf16.h"

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/image.h"
#include "kernels/cpu/pair_products.h"
#include "kernels/cpu/winograd_bf16_transforms.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/error.h"

#if defined(__x86_64__)

namespace ptbench {
namespace {

using namespace winograd;

constexpr Size kPoints = 16;  ///< of a transformed tile: 4 × 4
constexpr Size kTile = 2;     ///< outputs of a tile in each direction

/// Where a plane begins; its pixels follow one another, 16 elements each.
Size plane_offset(const ImageShape& image, Size sample, Size block) {
  return Planes(image, ImageOrder::blocked).offset(sample, block);
}

/// Where the weights of a block of outputs and a block of inputs begin.
constexpr Size kWindowBlock = 9 * kChannelBlock * kChannelBlock;

/// Transformed weights of every point as right-hand sides of products over input channels (forward)
/// or over output channels (data, windows turned by half a turn).
class TransformedWeights {
 public:
  TransformedWeights(Size inputs, Size outputs, bool turned)
      : reduced_(padded_channels(turned ? outputs : inputs)),
        columns_(padded_channels(turned ? inputs : outputs)),
        inputs_(channel_blocks(inputs)),
        outputs_(channel_blocks(outputs)),
        turned_(turned) {}

  [[nodiscard]] Bytes bytes() const {
    return static_cast<Bytes>(kPoints * reduced_ * columns_) * sizeof(Bf16);
  }
  [[nodiscard]] const std::uint32_t* point(const std::uint32_t* all, Size index) const {
    return all + index * reduced_ / 2 * columns_;
  }

  void fill(const float* weights, std::uint32_t* to) const {
    for (Size output = 0; output < outputs_; ++output)
      for (Size input = 0; input < inputs_; ++input) {
        const float* block = weights + (output * inputs_ + input) * kWindowBlock;
        const Size reduced = turned_ ? output : input;
        const Size column = turned_ ? input : output;
        alignas(64) float turned[kWindowBlock];
        if (turned_) {
          turn(block, turned);
          block = turned;
        }
        for (Size pair = 0; pair < kChannelBlock / 2; ++pair)
          fill_pair(block, pair, reduced * kChannelBlock / 2 + pair, column, to);
      }
  }

 private:
  /// Inputs and outputs exchanged, windows upside down.
  static void turn(const float* block, float* to) {
    for (Size tap = 0; tap < 9; ++tap)
      for (Size input = 0; input < kChannelBlock; ++input)
        for (Size output = 0; output < kChannelBlock; ++output)
          to[((8 - tap) * kChannelBlock + output) * kChannelBlock + input] =
              block[(tap * kChannelBlock + input) * kChannelBlock + output];
  }

  [[PTBENCH_BF16]] void fill_pair(const float* block, Size pair, Size step, Size column,
                                  std::uint32_t* to) const {
    __m512 g[2][3][3];
    __m512 u[2][4][4];
    for (Size i = 0; i < 2; ++i) {
      for (Size tap = 0; tap < 9; ++tap)
        g[i][tap / 3][tap % 3] =
            _mm512_loadu_ps(block + (tap * kChannelBlock + 2 * pair + i) * kChannelBlock);
      transform_weights(g[i], u[i]);
    }
    const Size place = products::packed_offset(reduced_ / 2, columns_, step, column);
    for (Size point = 0; point < kPoints; ++point)
      _mm512_storeu_si512(to + point * reduced_ / 2 * columns_ + place,
                          pair_up(u[0][point / 4][point % 4], u[1][point / 4][point % 4]));
  }

  Size reduced_;
  Size columns_;
  Size inputs_;   ///< blocks
  Size outputs_;  ///< blocks
  bool turned_;
};

/// A convolution of a native image with weights that are transformed first: tiles in chunks whose
/// intermediate results stay in the core's own cache.
class Filter {
 public:
  Filter(const Tiles& tiles, const TransformedWeights& weights,
         products::MultiplyPanel multiply_panel = nullptr)
      : tiles_(tiles),
        weights_(weights),
        multiply_panel_(multiply_panel),
        inputs_(padded_channels(tiles.image.channels)),
        outputs_(padded_channels(tiles.result.channels)) {
    constexpr Size kCache = Size{768} << 10U;
    constexpr Size kLeast = 48;  // fewer, and the weights are read too often
    const Size tile_bytes = kPoints * (2 * inputs_ + 4 * outputs_);
    chunk_ = std::min(std::max(kCache / tile_bytes, kLeast), tiles.count());
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    return weights_.bytes() + static_cast<Bytes>(kPoints * chunk_ * (2 * inputs_ + 4 * outputs_));
  }

  void run(const Bf16* image, const float* weights, Bf16* result, std::byte* scratch) const {
    auto* transformed = reinterpret_cast<std::uint32_t*>(scratch);
    auto* sums = reinterpret_cast<float*>(scratch + weights_.bytes());
    auto* patches = reinterpret_cast<Bf16*>(sums + kPoints * chunk_ * outputs_);
    weights_.fill(weights, transformed);
    for (Size begin = 0; begin < tiles_.count(); begin += chunk_) {
      const Size count = std::min(chunk_, tiles_.count() - begin);
      for (Size tile = 0; tile < count; ++tile) cut(image, begin + tile, patches + tile * inputs_);
      for (Size point = 0; point < kPoints; ++point)
        products::multiply(
            multiply_panel_, {.rows = count, .columns = outputs_, .steps = inputs_ / 2},
            {.values = reinterpret_cast<const std::uint32_t*>(patches + point * chunk_ * inputs_),
             .row = inputs_ / 2,
             .step = 1},
            weights_.point(transformed, point), sums + point * chunk_ * outputs_);
      for (Size tile = 0; tile < count; ++tile) put(sums + tile * outputs_, begin + tile, result);
    }
  }

 private:
  /// Transforms the patch of one tile.
  [[PTBENCH_BF16]] void cut(const Bf16* image, Size tile, Bf16* to) const {
    const Place at = tiles_.place(tile);
    for (Size block = 0; block < inputs_ / kChannelBlock; ++block) {
      __m512 d[4][4];
      __m512 v[4][4];
      load_window(image + plane_offset(tiles_.image, at.sample, block), tiles_.image.height,
                  tiles_.image.width, at.row - tiles_.padding.height,
                  at.column - tiles_.padding.width, d);
      transform_patch(d, v);
      Bf16* point = to + block * kChannelBlock;
#pragma GCC unroll 16
      for (Size i = 0; i < kPoints; ++i) bf16::store(point + i * chunk_ * inputs_, v[i / 4][i % 4]);
    }
  }

  /// Writes the results of one tile, those that exist.
  [[PTBENCH_BF16]] void put(const float* sums, Size tile, Bf16* result) const {
    const Place at = tiles_.place(tile);
    const Size height = std::min(kTile, tiles_.result.height - at.row);
    const Size width = std::min(kTile, tiles_.result.width - at.column);
    for (Size block = 0; block < outputs_ / kChannelBlock; ++block) {
      __m512 m[4][4];
      __m512 y[2][2];
#pragma GCC unroll 16
      for (Size i = 0; i < kPoints; ++i)
        m[i / 4][i % 4] = _mm512_loadu_ps(sums + i * chunk_ * outputs_ + block * kChannelBlock);
      gather_outputs(m, y);
      Bf16* to = result + plane_offset(tiles_.result, at.sample, block) +
                 (at.row * tiles_.result.width + at.column) * kChannelBlock;
      for (Size row = 0; row < height; ++row)
        for (Size column = 0; column < width; ++column)
          bf16::store(to + (row * tiles_.result.width + column) * kChannelBlock, y[row][column]);
    }
  }

  const Tiles& tiles_;
  const TransformedWeights& weights_;
  products::MultiplyPanel multiply_panel_;
  Size inputs_;   ///< channels, padded
  Size outputs_;  ///< channels, padded
  Size chunk_;    ///< tiles
};

/// The gradient of the weights: products of patches and spread gradients, summed over all tiles.
/// Where one chunk holds all tiles, the weights are summed a part at a time, since sums of all
/// points take much memory. With several chunks, tiles would be transformed anew for every part.
class WeightGradient {
 public:
  explicit WeightGradient(const Tiles& tiles, products::MultiplyPanel multiply_panel = nullptr)
      : tiles_(tiles),
        multiply_panel_(multiply_panel),
        inputs_(padded_channels(tiles.image.channels)),
        outputs_(padded_channels(tiles.result.channels)) {
    constexpr Size kCache = Size{1} << 20U;
    constexpr Size kLeast = 128;  // fewer, and the sums are read and written too often
    const Size tile_bytes = kPoints * 2 * (inputs_ + outputs_);
    const Size even = (tiles.count() + 1) / 2 * 2;
    chunk_ = std::min(std::max(kCache / tile_bytes / 2 * 2, kLeast), even);
    constexpr Size kPartOutputs = products::kBlock * products::kPanelBlocks;
    constexpr Size kPartInputs = 128;  // with kPartOutputs, half a MiB of sums
    part_inputs_ = chunk_ == even ? std::min(kPartInputs, inputs_) : inputs_;
    part_outputs_ = chunk_ == even ? std::min(kPartOutputs, outputs_) : outputs_;
  }

  [[nodiscard]] Bytes scratch_bytes() const {
    return static_cast<Bytes>(
        kPoints * (4 * part_inputs_ * part_outputs_ + 2 * chunk_ * (inputs_ + part_outputs_)));
  }

  void run(const Bf16* image, const Bf16* gradient, float* weights, std::byte* scratch) const {
    auto* sums = reinterpret_cast<float*>(scratch);
    auto* patches = reinterpret_cast<std::uint32_t*>(sums + kPoints * part_inputs_ * part_outputs_);
    auto* spread = patches + kPoints * chunk_ / 2 * inputs_;
    for (Size output = 0; output < outputs_; output += part_outputs_)
      for (Size input = 0; input < inputs_; input += part_inputs_) {
        const Range inputs{input, std::min(input + part_inputs_, inputs_)};
        const Range outputs{output, std::min(output + part_outputs_, outputs_)};
        for (Size begin = 0; begin < tiles_.count(); begin += chunk_) {
          const Size pairs = (std::min(chunk_, tiles_.count() - begin) + 1) / 2;
          // Parts have one chunk: its patches stay for all of them, and its spread gradients for
          // those of the same outputs.
          if (output == 0 && input == 0) cut_patches(image, begin, pairs, patches);
          if (input == 0) spread_pairs(gradient, outputs, begin, pairs, spread);
          multiply({inputs.size(), outputs.size(), pairs, begin > 0}, patches + input, spread,
                   sums);
        }
        put(sums, inputs, outputs, weights);
      }
  }

 private:
  /// The products of a part, or what a chunk adds to them, point by point. `patches`: from the
  /// part's first input on.
  void multiply(const products::Extent& part, const std::uint32_t* patches,
                const std::uint32_t* spread, float* sums) const {
    for (Size point = 0; point < kPoints; ++point)
      products::multiply_flat(
          multiply_panel_, part,
          {.values = patches + point * chunk_ / 2 * inputs_, .row = 1, .step = inputs_},
          spread + point * chunk_ / 2 * part.columns, sums + point * part.rows * part.columns);
  }

  /// Transforms the patches of pairs of tiles from `begin` on.
  void cut_patches(const Bf16* image, Size begin, Size pairs, std::uint32_t* patches) const {
    for (Size pair = 0; pair < pairs; ++pair)
      transform<4, transform_patch>(image, tiles_.image, tiles_.padding, {0, inputs_},
                                    begin + 2 * pair, patches + pair * inputs_);
  }

  /// Spreads the gradients of `outputs`, of pairs of tiles from `begin` on.
  void spread_pairs(const Bf16* gradient, Range outputs, Size begin, Size pairs,
                    std::uint32_t* spread) const {
    for (Size pair = 0; pair < pairs; ++pair)
      transform<2, spread_gradients>(gradient, tiles_.result, {}, outputs, begin + 2 * pair,
                                     spread + pair * outputs.size());
  }

  /// Transforms windows of one image of two tiles, `padding` before where their results begin; a
  /// tile that does not exist is zero. `channels`: those that are transformed, whole blocks.
  template <std::size_t Side, void (*TileTransform)(const __m512 (&)[Side][Side], __m512 (&)[4][4])>
  [[PTBENCH_BF16]] void transform(const Bf16* from, const ImageShape& image, Padding padding,
                                  Range channels, Size tile, std::uint32_t* to) const {
    for (Size channel = channels.begin; channel < channels.end; channel += kChannelBlock) {
      __m512 d[Side][Side];
      __m512 v[2][4][4];
      for (Size i = 0; i < 2; ++i) {
        const bool there = tile + i < tiles_.count();
        const Place at = tiles_.place(there ? tile + i : tile);
        load_window(from + plane_offset(image, at.sample, channel / kChannelBlock), image.height,
                    image.width, at.row - padding.height, at.column - padding.width, d);
        TileTransform(d, v[i]);
        if (!there) clear(v[i]);
      }
      put_pairs(v, to + channel - channels.begin, chunk_ / 2 * channels.size());
    }
  }

  [[PTBENCH_BF16]] static void clear(__m512 (&v)[4][4]) {
    for (auto& row : v)
      for (auto& value : row) value = _mm512_setzero_ps();
  }

  [[PTBENCH_BF16]] static void put_pairs(const __m512 (&v)[2][4][4], std::uint32_t* to,
                                         Size point_size) {
#pragma GCC unroll 16
    for (Size i = 0; i < kPoints; ++i)
      _mm512_storeu_si512(to + i * point_size, pair_up(v[0][i / 4][i % 4], v[1][i / 4][i % 4]));
  }

  /// The weights of a part, from its sums of all points.
  [[PTBENCH_BF16]] void put(const float* sums, Range inputs, Range outputs, float* weights) const {
    for (Size output = outputs.begin; output < outputs.end; output += kChannelBlock)
      for (Size input = inputs.begin; input < inputs.end; ++input) {
        const float* from = sums + (input - inputs.begin) * outputs.size() + output - outputs.begin;
        __m512 m[4][4];
        __m512 g[3][3];
        for (Size i = 0; i < kPoints; ++i)
          m[i / 4][i % 4] = _mm512_loadu_ps(from + i * inputs.size() * outputs.size());
        gather_weights(m, g);
        float* to = weights +
                    (output / kChannelBlock * (inputs_ / kChannelBlock) + input / kChannelBlock) *
                        kWindowBlock +
                    input % kChannelBlock * kChannelBlock;
        for (Size tap = 0; tap < 9; ++tap)
          _mm512_storeu_ps(to + tap * kChannelBlock * kChannelBlock, g[tap / 3][tap % 3]);
      }
  }

  const Tiles& tiles_;
  products::MultiplyPanel multiply_panel_;
  Size inputs_;   ///< channels, padded
  Size outputs_;  ///< channels, padded
  Size chunk_;    ///< tiles, even
  /// Channels of a part of the weights: all where there are several chunks.
  Size part_inputs_;
  Size part_outputs_;
};

}  // namespace

bool has_winograd_bf16() { return __builtin_cpu_supports("avx512bf16") != 0; }

Bytes winograd_bf16_forward_scratch(const Conv2dSpec& spec) {
  const Tiles tiles = forward_tiles(spec, kTile);
  const TransformedWeights weights(spec.input.channels, spec.outputs, false);
  return Filter(tiles, weights).scratch_bytes();
}

Bytes winograd_bf16_data_scratch(const Conv2dSpec& spec) {
  const Tiles tiles = data_tiles(spec, kTile);
  const TransformedWeights weights(spec.input.channels, spec.outputs, true);
  return Filter(tiles, weights).scratch_bytes();
}

Bytes winograd_bf16_weights_scratch(const Conv2dSpec& spec) {
  const Tiles tiles = forward_tiles(spec, kTile);
  return WeightGradient(tiles).scratch_bytes();
}

void winograd_bf16_forward(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                           const Bf16* x, const float* weights, Bf16* y, std::byte* scratch) {
  const Tiles tiles = forward_tiles(spec, kTile);
  const TransformedWeights transformed(spec.input.channels, spec.outputs, false);
  Filter(tiles, transformed, multiply_panel).run(x, weights, y, scratch);
}

void winograd_bf16_data(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                        const Bf16* y_gradient, const float* weights, Bf16* x_gradient,
                        std::byte* scratch) {
  const Tiles tiles = data_tiles(spec, kTile);
  const TransformedWeights transformed(spec.input.channels, spec.outputs, true);
  Filter(tiles, transformed, multiply_panel).run(y_gradient, weights, x_gradient, scratch);
}

void winograd_bf16_weights(const Conv2dSpec& spec, products::MultiplyPanel multiply_panel,
                           const Bf16* x, const Bf16* y_gradient, float* weight_gradient,
                           std::byte* scratch) {
  const Tiles tiles = forward_tiles(spec, kTile);
  WeightGradient(tiles, multiply_panel).run(x, y_gradient, weight_gradient, scratch);
}

}  // namespace ptbench

#else

namespace ptbench {

bool has_winograd_bf16() { return false; }
Bytes winograd_bf16_forward_scratch(const Conv2dSpec& /*spec*/) { return 0; }
Bytes winograd_bf16_data_scratch(const Conv2dSpec& /*spec*/) { return 0; }
Bytes winograd_bf16_weights_scratch(const Conv2dSpec& /*spec*/) { return 0; }
void winograd_bf16_forward(const Conv2dSpec& /*spec*/, products::MultiplyPanel /*multiply_panel*/,
                           const Bf16* /*x*/, const float* /*weights*/, Bf16* /*y*/,
                           std::byte* /*scratch*/) {
  throw Defect("bf16 products are x86's");
}
void winograd_bf16_data(const Conv2dSpec& /*spec*/, products::MultiplyPanel /*multiply_panel*/,
                        const Bf16* /*y_gradient*/, const float* /*weights*/, Bf16* /*x_gradient*/,
                        std::byte* /*scratch*/) {
  throw Defect("bf16 products are x86's");
}
void winograd_bf16_weights(const Conv2dSpec& /*spec*/, products::MultiplyPanel /*multiply_panel*/,
                           const Bf16* /*x*/, const Bf16* /*y_gradient*/,
                           float* /*weight_gradient*/, std::byte* /*scratch*/) {
  throw Defect("bf16 products are x86's");
}

}  // namespace ptbench

#endif

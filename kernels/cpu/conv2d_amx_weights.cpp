#include "kernels/cpu/conv2d_amx_weights.h"

#include <array>

#include "kernels/cpu/bf16_vectors.h"
#include "kernels/cpu/image.h"

#if defined(__x86_64__)
namespace ptbench::amx {
namespace {

/// Words of two neighbours on the line, of a block's channels.
[[PTBENCH_AMX]] inline __m512i words_of(const Bf16* first, const Bf16* second) {
  return bf16::pair_up(bf16::load(first), bf16::load(second));
}

/// Factors of one product: one or two blocks of 16 outputs, where positions lie side by side, and
/// blocks of channels, where words of two positions do.
struct Factors {
  std::array<const Bf16*, 2> left{};
  Size pitch = 0;  ///< elements from output to output
  std::array<const std::uint32_t*, 2> right{};
  Size steps = 0;  ///< of kDepth
  bool add = false;
};

/// sums[i][k] = left[i] · right[k], of 16 × 16 each; one or two of either.
template <int Lefts, int Rights>
[[PTBENCH_AMX]] void multiply_tiles(const Factors& f, float* const (&sums)[2][2]) {
  constexpr std::size_t kSumBytes = kChannelBlock * sizeof(float);
  constexpr std::size_t kWordBytes = kChannelBlock * sizeof(std::uint32_t);
  const auto pitch = static_cast<std::size_t>(f.pitch) * sizeof(Bf16);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (f.add) {
    _tile_loadd(0, sums[0][0], kSumBytes);
    if constexpr (Rights == 2) _tile_loadd(1, sums[0][1], kSumBytes);
    if constexpr (Lefts == 2) _tile_loadd(2, sums[1][0], kSumBytes);
    if constexpr (Lefts == 2 && Rights == 2) _tile_loadd(3, sums[1][1], kSumBytes);
  }
  for (Size step = 0; step < f.steps; ++step) {
    const Size position = step * kDepth;
    const Size word = step * kRows * kChannelBlock;
    _tile_loadd(4, f.left[0] + position, pitch);
    _tile_loadd(6, f.right[0] + word, kWordBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Rights == 2) {
      _tile_loadd(7, f.right[1] + word, kWordBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Lefts == 2) {
      _tile_loadd(5, f.left[1] + position, pitch);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (Lefts == 2 && Rights == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums[0][0], kSumBytes);
  if constexpr (Rights == 2) _tile_stored(1, sums[0][1], kSumBytes);
  if constexpr (Lefts == 2) _tile_stored(2, sums[1][0], kSumBytes);
  if constexpr (Lefts == 2 && Rights == 2) _tile_stored(3, sums[1][1], kSumBytes);
}

/// Where the channels of the positions of a tile lie, and of one more.
using Pixels = std::array<const Bf16*, static_cast<std::size_t>(kDepth) + 1>;

Pixels pixels_of(const flat::Line& line, const flat::Image& image, const Bf16* memory, Size begin,
                 const Bf16* zeros) {
  Pixels pixels{};
  flat::Run run;
  for (Size i = 0; i <= kDepth; i += run.count) {
    run = image.run_at(line, memory, begin + i, begin + kDepth + 1);
    for (Size k = 0; k < run.count; ++k)
      pixels[static_cast<std::size_t>(i + k)] =
          run.pixels == nullptr ? zeros : run.pixels + k * run.step;
  }
  return pixels;
}

/// The sum of both positions of each word.
[[PTBENCH_AMX]] inline __m512 sum_of_pairs(__m512i words) {
  const __m512i second = _mm512_and_si512(words, _mm512_set1_epi32(-0x10000));
  return _mm512_add_ps(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)),
                       _mm512_castsi512_ps(second));
}

}  // namespace

struct WeightProducts::Blocks {
  Size output;
  Size input;
  std::size_t tap;
};

WeightProducts::WeightProducts(const Conv2dSpec& spec)
    : geometry_(flat::geometry_of(spec)),
      bias_(spec.bias),
      input_blocks_(channel_blocks(spec.input.channels)),
      output_blocks_(channel_blocks(spec.outputs)) {
  const bool odd =
      std::ranges::any_of(geometry_.taps, [](const flat::Tap& tap) { return tap.offset % 2 != 0; });
  copies_ = odd ? 2 : 1;
  const auto phases = static_cast<Size>(geometry_.phases.size());
  const Size a_position =
      (phases * copies_ * input_blocks_ + output_blocks_) * kChannelBlock * kPair;
  chunk_ = Chunk::of(geometry_.line.positions(), a_position, geometry_.least_offset,
                     geometry_.most_offset);
  packing_.pitch = pitch_of(chunk_.size);
  packing_.panel = chunk_.reach / kPair * kChannelBlock;
  const auto place = [this](Size elements, std::size_t size) {
    const Bytes begin = packing_.bytes;
    packing_.bytes += round_up(static_cast<Bytes>(elements) * size, Bytes{64});
    return begin;
  };
  packing_.outputs = place(output_blocks_ * kChannelBlock * packing_.pitch, sizeof(Bf16));
  packing_.inputs = place(phases * copies_ * input_blocks_ * packing_.panel, sizeof(std::uint32_t));
  packing_.zeros = place(std::max(input_blocks_, output_blocks_) * kChannelBlock, sizeof(Bf16));
  packing_.biases = place(output_blocks_ * kChannelBlock, sizeof(float));
}

void WeightProducts::run(const Bf16* x, const Bf16* y_gradient, float* weights, float* bias,
                         std::byte* scratch) const {
  auto* zeros = reinterpret_cast<Bf16*>(scratch + packing_.zeros);
  std::fill_n(zeros, std::max(input_blocks_, output_blocks_) * kChannelBlock, Bf16{});
  const Size biases = bias_ ? output_blocks_ * kChannelBlock : 0;
  const auto* sums = reinterpret_cast<const float*>(scratch + packing_.biases);
  std::fill_n(bias, biases, 0.0F);
  const Tiles tiles;
  Chunk chunk = chunk_;
  for (; chunk.begin < geometry_.line.positions(); chunk.begin += chunk.size) {
    pack_inputs(x, chunk, scratch);
    pack_outputs(y_gradient, chunk, scratch);
    for (Size i = 0; i < biases; ++i) bias[i] += sums[i];
    memory_is_written();
    multiply(scratch, chunk.begin > 0, weights);
  }
}

/// Words of two positions × channels, block by block, of every phase: words that begin at even
/// positions, and then, for taps with odd offsets, those that begin at odd ones.
[[PTBENCH_AMX]] void WeightProducts::pack_inputs(const Bf16* x, const Chunk& chunk,
                                                 std::byte* scratch) const {
  const auto* zeros = reinterpret_cast<const Bf16*>(scratch + packing_.zeros);
  auto* to = reinterpret_cast<std::uint32_t*>(scratch + packing_.inputs);
  flat::Image image = geometry_.input;
  for (const flat::Phase& phase : geometry_.phases) {
    image.phase = phase;
    for (Size position = 0; position < chunk.reach; position += kDepth) {
      const Pixels pixels =
          pixels_of(geometry_.line, image, x, chunk.begin - chunk.margin + position, zeros);
      for (std::size_t first = 0; first < static_cast<std::size_t>(copies_); ++first)
        for (Size block = 0; block < input_blocks_; ++block) {
          const Size panel = static_cast<Size>(first) * input_blocks_ + block;
          std::uint32_t* words = to + panel * packing_.panel + position / kPair * kChannelBlock;
#pragma GCC unroll 16
          for (std::size_t i = 0; i < kRows; ++i)
            _mm512_storeu_si512(words + static_cast<Size>(i) * kChannelBlock,
                                words_of(pixels[first + 2 * i] + block * kChannelBlock,
                                         pixels[first + 2 * i + 1] + block * kChannelBlock));
        }
    }
    to += copies_ * input_blocks_ * packing_.panel;
  }
}

/// Outputs × positions, and their sums over all: of each tile's positions first, as a chain of all
/// would round too often.
[[PTBENCH_AMX]] void WeightProducts::pack_outputs(const Bf16* gradient, const Chunk& chunk,
                                                  std::byte* scratch) const {
  const auto* zeros = reinterpret_cast<const Bf16*>(scratch + packing_.zeros);
  auto* to = reinterpret_cast<Bf16*>(scratch + packing_.outputs);
  auto* sums = reinterpret_cast<float*>(scratch + packing_.biases);
  std::fill_n(sums, output_blocks_ * kChannelBlock, 0.0F);
  for (Size position = 0; position < chunk.size; position += kDepth) {
    const Pixels pixels =
        pixels_of(geometry_.line, geometry_.output, gradient, chunk.begin + position, zeros);
    for (Size block = 0; block < output_blocks_; ++block) {
      const Size channel = block * kChannelBlock;
      __m512i words[kRows];
      __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRows; ++i) {
        words[i] = words_of(pixels[2 * i] + channel, pixels[2 * i + 1] + channel);
        if (bias_) sum = _mm512_add_ps(sum, sum_of_pairs(words[i]));
      }
      if (bias_)
        _mm512_storeu_ps(sums + channel, _mm512_add_ps(_mm512_loadu_ps(sums + channel), sum));
      avx512::transpose(words);
      Bf16* rows = to + channel * packing_.pitch + position;
#pragma GCC unroll 16
      for (Size i = 0; i < kRows; ++i) _mm512_storeu_si512(rows + i * packing_.pitch, words[i]);
    }
  }
}

/// All taps of two blocks of outputs and two of inputs at a time.
void WeightProducts::multiply(const std::byte* scratch, bool add, float* weights) const {
  for (Size output = 0; output < output_blocks_; output += 2)
    for (Size input = 0; input < input_blocks_; input += 2)
      for (std::size_t tap = 0; tap < geometry_.taps.size(); ++tap)
        multiply_blocks(scratch, {output, input, tap}, add, weights);
}

void WeightProducts::multiply_blocks(const std::byte* scratch, const Blocks& at, bool add,
                                     float* weights) const {
  const flat::Tap& tap = geometry_.taps[at.tap];
  const Size first = chunk_.margin + tap.offset;
  const Size panel =
      (static_cast<Size>(tap.phase) * copies_ + first % kPair) * input_blocks_ + at.input;
  const auto* left = reinterpret_cast<const Bf16*>(scratch + packing_.outputs) +
                     at.output * kChannelBlock * packing_.pitch;
  const auto* right = reinterpret_cast<const std::uint32_t*>(scratch + packing_.inputs) +
                      panel * packing_.panel + first / kPair * kChannelBlock;
  const Factors factors{.left = {left, left + kChannelBlock * packing_.pitch},
                        .pitch = packing_.pitch,
                        .right = {right, right + packing_.panel},
                        .steps = chunk_.size / kDepth,
                        .add = add};
  const auto taps = static_cast<Size>(geometry_.taps.size());
  const Size next_input = taps * kSums;
  const Size next_output = input_blocks_ * next_input;
  float* sum =
      weights + at.output * next_output + at.input * next_input + static_cast<Size>(at.tap) * kSums;
  float* const sums[2][2] = {{sum, sum + next_input},
                             {sum + next_output, sum + next_output + next_input}};
  const bool two_inputs = at.input + 1 < input_blocks_;
  const bool two_outputs = at.output + 1 < output_blocks_;
  if (two_outputs && two_inputs)
    multiply_tiles<2, 2>(factors, sums);
  else if (two_outputs)
    multiply_tiles<2, 1>(factors, sums);
  else if (two_inputs)
    multiply_tiles<1, 2>(factors, sums);
  else
    multiply_tiles<1, 1>(factors, sums);
}

}  // namespace ptbench::amx
#endif

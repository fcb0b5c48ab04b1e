#include "kernels/cpu/conv2d_amx_pixels.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/cpu/bf16_vectors.h"
#include "kernels/cpu/image.h"

#if defined(__x86_64__)
namespace ptbench::amx {
namespace {

constexpr Size kPositions = 2 * kRows;  ///< of two tiles, whose sums are made at a time

/// One term of sums for two tiles of positions and one or two of results.
struct Product {
  const Bf16* positions;
  const Bf16* weights;
};

/// Adds a term, over all channels, to tiles 0 to 3.
template <int Blocks>
[[PTBENCH_AMX]] inline void add_product(const Product& product, Size pitch, Size block_step) {
  constexpr std::size_t kWeightBytes = kDepth * sizeof(Bf16);
  const auto row = static_cast<std::size_t>(pitch) * sizeof(Bf16);
  _tile_loadd(4, product.positions, row);
  _tile_loadd(6, product.weights, kWeightBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(5, product.positions + kRows * pitch, row);
  _tile_dpbf16ps(2, 5, 6);
  if constexpr (Blocks == 2) {
    _tile_loadd(7, product.weights + block_step, kWeightBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
  }
}

[[PTBENCH_AMX]] inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/// Positions × 16 floats of each block, one block after the other.
template <int Blocks>
[[PTBENCH_AMX]] inline void store_sums(float* sums) {
  constexpr std::size_t kRowBytes = kChannelBlock * sizeof(float);
  _tile_stored(0, sums, kRowBytes);
  _tile_stored(2, sums + kSums, kRowBytes);
  if constexpr (Blocks == 2) {
    _tile_stored(1, sums + 2 * kSums, kRowBytes);
    _tile_stored(3, sums + 3 * kSums, kRowBytes);
  }
}

/// Channels of whole blocks of 16, and zeros up to whole lines.
[[PTBENCH_AMX]] inline void copy_pixel(const Bf16* from, Size channels, Bf16* to) {
  Size channel = 0;
  for (; channel + kLine <= channels; channel += kLine)
    _mm512_storeu_si512(to + channel, _mm512_loadu_si512(from + channel));
  if (channel == channels) return;
  _mm512_storeu_si512(to + channel, _mm512_zextsi256_si512(bf16::load(from + channel)));
}

}  // namespace

PixelProducts::PixelProducts(const Conv2dSpec& spec, Result result)
    : geometry_(flat::geometry_of(spec)) {
  const auto taps = static_cast<Size>(geometry_.taps.size());
  Size least = geometry_.least_offset;
  Size most = geometry_.most_offset;
  if (result == Result::output) {
    depth_ = spec.input.channels;
    blocks_ = channel_blocks(spec.outputs);
    depth_step_ = taps * kElements;
    block_step_ = (depth_ + kDepth - 1) / kDepth * depth_step_;
    plan_output();
  } else {
    depth_ = spec.outputs;
    blocks_ = channel_blocks(spec.input.channels);
    block_step_ = taps * kElements;
    depth_step_ = blocks_ * block_step_;
    std::tie(least, most) = std::pair(-most, -least);
    plan_input_gradient(spec.window);
  }
  const auto sources = static_cast<Size>(sources_.size());
  packing_.pitch = pitch_of(round_up(depth_, kDepth));
  chunk_ = Chunk::of(geometry_.line.positions(), sources * packing_.pitch * kPair, least, most);
  packing_.source = packing_.pitch * chunk_.reach;
  packing_.places = static_cast<Bytes>(sources * packing_.source) * sizeof(Bf16);
  packing_.sums = packing_.places + static_cast<Bytes>(chunk_.size) * sizeof(Bf16*);
  packing_.bytes = packing_.sums + 4 * kSums * sizeof(float);
}

void PixelProducts::plan_output() {
  for (const flat::Phase& phase : geometry_.phases) {
    sources_.push_back(geometry_.input);
    sources_.back().phase = phase;
  }
  Target target{.image = geometry_.output};
  for (std::size_t tap = 0; tap < geometry_.taps.size(); ++tap)
    target.terms.push_back({.source = static_cast<Size>(geometry_.taps[tap].phase),
                            .offset = geometry_.taps[tap].offset,
                            .tap = static_cast<Size>(tap)});
  targets_.push_back(std::move(target));
}

/// Where a tap read x at f + offset for y at f, the gradient of x at f takes y's at f − offset.
/// Pixels that no tap reads have no terms.
void PixelProducts::plan_input_gradient(const Window& window) {
  sources_.push_back(geometry_.output);
  for (Size row = 0; row < window.stride_height; ++row)
    for (Size column = 0; column < window.stride_width; ++column) {
      Target target{.image = geometry_.input};
      target.image.phase = {.row = row, .column = column};
      for (std::size_t tap = 0; tap < geometry_.taps.size(); ++tap)
        if (geometry_.phases[geometry_.taps[tap].phase] == target.image.phase)
          target.terms.push_back(
              {.source = 0, .offset = -geometry_.taps[tap].offset, .tap = static_cast<Size>(tap)});
      targets_.push_back(std::move(target));
    }
}

void PixelProducts::run(const Memory& memory) const {
  auto* packed = reinterpret_cast<Bf16*>(memory.scratch);
  auto** places = reinterpret_cast<Bf16**>(memory.scratch + packing_.places);
  const Tiles tiles;
  Chunk chunk = chunk_;
  for (; chunk.begin < geometry_.line.positions(); chunk.begin += chunk.size) {
    pack(memory.factor, chunk, packed);
    memory_is_written();
    for (const Target& target : targets_)
      if (find_places(target, chunk, memory.result, places))
        multiply(target, memory, packed, places);
  }
}

/// Positions × channels of every source, zeros in gaps and behind the channels.
[[PTBENCH_AMX]] void PixelProducts::pack(const Bf16* factor, const Chunk& chunk, Bf16* to) const {
  const Size begin = chunk.begin - chunk.margin;
  const Size end = begin + chunk.reach;
  for (const flat::Image& source : sources_) {
    flat::Run run;
    for (Size position = begin; position < end; position += run.count) {
      run = source.run_at(geometry_.line, factor, position, end);
      if (run.pixels == nullptr) {
        std::fill_n(to, run.count * packing_.pitch, Bf16{});
        to += run.count * packing_.pitch;
        continue;
      }
      for (Size i = 0; i < run.count; ++i, to += packing_.pitch)
        copy_pixel(run.pixels + i * run.step, depth_, to);
    }
  }
}

/// Where the results of a chunk's positions belong, null where to nobody; false if to nobody at
/// all.
bool PixelProducts::find_places(const Target& target, const Chunk& chunk, Bf16* result,
                                Bf16** places) const {
  bool any = false;
  flat::Run run;
  for (Size i = 0; i < chunk.size; i += run.count) {
    run = target.image.run_at(geometry_.line, result, chunk.begin + i, chunk.begin + chunk.size);
    any = any || run.pixels != nullptr;
    for (Size k = 0; k < run.count; ++k)
      places[i + k] =
          run.pixels == nullptr ? nullptr : const_cast<Bf16*>(run.pixels) + k * run.step;
  }
  return any;
}

/// Two tiles of positions by two blocks of results at a time, whose weights are used for all of a
/// chunk's positions.
[[PTBENCH_AMX]] void PixelProducts::multiply(const Target& target, const Memory& memory,
                                             const Bf16* packed, Bf16* const* places) const {
  auto* sums = reinterpret_cast<float*>(memory.scratch + packing_.sums);
  const Size depths = (depth_ + kDepth - 1) / kDepth;
  for (Size block = 0; block < blocks_; block += 2) {
    const Size blocks = std::min<Size>(2, blocks_ - block);
    for (Size position = 0; position < chunk_.size; position += kPositions) {
      if (std::all_of(places + position, places + position + kPositions,
                      [](const Bf16* place) { return place == nullptr; }))
        continue;
      clear_sums();
      for (Size depth = 0; depth < depths; ++depth) {
        const Bf16* weights = memory.weights + block * block_step_ + depth * depth_step_;
        for (const Term& term : target.terms) {
          const Product product{
              .positions = packed + term.source * packing_.source +
                           (chunk_.margin + position + term.offset) * packing_.pitch +
                           depth * kDepth,
              .weights = weights + term.tap * kElements};
          if (blocks == 2)
            add_product<2>(product, packing_.pitch, block_step_);
          else
            add_product<1>(product, packing_.pitch, block_step_);
        }
      }
      if (blocks == 2)
        store_sums<2>(sums);
      else
        store_sums<1>(sums);
      finish(memory, block, blocks, sums, places + position);
    }
  }
}

/// Rounds sums and brings them to their places, with biases and what is there already.
[[PTBENCH_AMX]] void PixelProducts::finish(const Memory& memory, Size block, Size blocks,
                                           const float* sums, Bf16* const* places) const {
  const Size channel = block * kChannelBlock;
  __m512 biases[2] = {};
  for (Size i = 0; i < blocks && memory.bias != nullptr; ++i)
    biases[i] = _mm512_loadu_ps(memory.bias + channel + i * kChannelBlock);
  for (Size position = 0; position < kPositions; ++position, sums += kChannelBlock) {
    if (places[position] == nullptr) continue;
    for (Size i = 0; i < blocks; ++i) {
      Bf16* to = places[position] + channel + i * kChannelBlock;
      __m512 sum = _mm512_add_ps(_mm512_loadu_ps(sums + i * 2 * kSums), biases[i]);
      if (memory.add) sum = _mm512_add_ps(sum, bf16::widen(bf16::load(to)));
      bf16::store(to, sum);
    }
  }
}

}  // namespace ptbench::amx
#endif

#include "src/comm/reduce.h"

#include <algorithm>
#include <array>

#include "src/comm/isa_loops.h"

namespace ptbench {
namespace {

/// Floats that are summed before they are stored: they stay in the first cache beside one source.
constexpr Size kBlock = 1024;

template <WireType Wire>
[[gnu::always_inline]] inline float received(float value) {
  if constexpr (Wire == WireType::bf16) return rounded_to_bf16(value);
  return value;
}

struct Work {
  ReducedBuffers buffers;
  Range range;
  float scale = 1;
};

/// Two ranks that both get the sum: one pass, in place.
template <WireType Wire, WireType Result>
[[gnu::always_inline]] inline void reduce_pair(float* __restrict first, float* __restrict second,
                                               Size size, float scale) {
  for (Size i = 0; i < size; ++i) {
    const float sum = received<Wire>(first[i]) + received<Wire>(second[i]);
    const float value = received<Result>(sum * scale);
    first[i] = value;
    second[i] = value;
  }
}

/// Two ranks of which one gets the sum.
template <WireType Wire, WireType Result>
[[gnu::always_inline]] inline void reduce_into(float* __restrict target,
                                               const float* __restrict other, Size size,
                                               float scale) {
  for (Size i = 0; i < size; ++i)
    target[i] = received<Result>((received<Wire>(target[i]) + received<Wire>(other[i])) * scale);
}

template <WireType Wire>
[[gnu::always_inline]] inline void load(float* __restrict sum, const float* __restrict source,
                                        Size size) {
  for (Size i = 0; i < size; ++i) sum[i] = received<Wire>(source[i]);
}

template <WireType Wire>
[[gnu::always_inline]] inline void add(float* __restrict sum, const float* __restrict source,
                                       Size size) {
  for (Size i = 0; i < size; ++i) sum[i] += received<Wire>(source[i]);
}

template <WireType Result>
[[gnu::always_inline]] inline void store_scaled(float* __restrict destination,
                                                float* __restrict sum, Size size, float scale) {
  for (Size i = 0; i < size; ++i) {
    const float value = received<Result>(sum[i] * scale);
    sum[i] = value;
    destination[i] = value;
  }
}

[[gnu::always_inline]] inline void store(float* __restrict destination, const float* __restrict sum,
                                         Size size) {
  for (Size i = 0; i < size; ++i) destination[i] = sum[i];
}

template <WireType Wire, WireType Result>
[[gnu::always_inline]] inline void reduce_block(const Work& work, Range block) {
  alignas(64) std::array<float, kBlock> sums;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  float* sum = sums.data();
  const Size size = block.size();
  const ReducedBuffers& buffers = work.buffers;
  load<Wire>(sum, buffers.sources[0] + block.begin, size);
  for (const float* source : buffers.sources.subspan(1)) add<Wire>(sum, source + block.begin, size);
  store_scaled<Result>(buffers.destinations[0] + block.begin, sum, size, work.scale);
  for (float* destination : buffers.destinations.subspan(1))
    store(destination + block.begin, sum, size);
}

/// Whether the two ranks both get the sum.
bool is_pair(const ReducedBuffers& buffers) {
  return buffers.sources.size() == 2 && std::ranges::equal(buffers.sources, buffers.destinations);
}

/// The other of two sources, where one of them is the only destination; null otherwise.
const float* other_source(const ReducedBuffers& buffers) {
  if (buffers.sources.size() != 2 || buffers.destinations.size() != 1) return nullptr;
  const float* target = buffers.destinations[0];
  if (target == buffers.sources[0]) return buffers.sources[1];
  return target == buffers.sources[1] ? buffers.sources[0] : nullptr;
}

template <WireType Wire, WireType Result>
void reduce_as(Isa isa, const Work& work) {
  const Size begin = work.range.begin;
  const Size size = work.range.size();
  const float scale = work.scale;
  float* target = work.buffers.destinations[0] + begin;
  if (is_pair(work.buffers)) {
    float* second = work.buffers.destinations[1] + begin;
    isa_loops::run(isa, [=] { reduce_pair<Wire, Result>(target, second, size, scale); });
  } else if (const float* other = other_source(work.buffers); other != nullptr) {
    isa_loops::run(isa, [=] { reduce_into<Wire, Result>(target, other + begin, size, scale); });
  } else {
    isa_loops::run(isa, [&] {
      for (Size at = begin; at < work.range.end; at += kBlock)
        reduce_block<Wire, Result>(work, {at, std::min(at + kBlock, work.range.end)});
    });
  }
}

}  // namespace

void reduce_range(Isa isa, const ReducedBuffers& buffers, Range range, Reduction reduction,
                  ResultType result) {
  const Work work{.buffers = buffers, .range = range, .scale = reduction.scale};
  if (reduction.wire == WireType::fp32)
    reduce_as<WireType::fp32, WireType::fp32>(isa, work);
  else if (result == ResultType::fp32)
    reduce_as<WireType::bf16, WireType::fp32>(isa, work);
  else
    reduce_as<WireType::bf16, WireType::bf16>(isa, work);
}

}  // namespace ptbench

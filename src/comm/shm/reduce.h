#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/device/isa.h"

namespace ptbench {

/// `value` as bf16 carries it: to nearest, ties to even; NaN stays NaN. The bits of
/// to_float(to_bf16(value)) (src/base/narrow_floats.h), without a branch for loops of vectors.
[[nodiscard]] constexpr float rounded_to_bf16(float value) {
  constexpr std::uint32_t kUpperHalf = 0xffff0000U;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16U) & 1U);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return std::bit_cast<float>((is_nan ? bits | 0x400000U : nearest) & kUpperHalf);
}

/// What becomes of a sum: it stays in fp32 with the one who computed it, or travels back as the
/// values came.
enum class ResultType : std::uint8_t { fp32, wire };

/// Which values are reduced, and where the result goes. All spans are whole buffers of equal length
/// that do not overlap; a destination may be one of the sources.
template <class Value>
struct ReducedBuffersOf {
  std::span<const Value* const> sources;  ///< in the order in which they are summed
  std::span<Value* const> destinations;   ///< one or more
};
using ReducedBuffers = ReducedBuffersOf<float>;
/// Of bf16 values, as the bits that they lie in: the upper half of a float's.
using ReducedBf16 = ReducedBuffersOf<std::uint16_t>;

/// Stores the reduction of the sources' elements in `range` to every destination. The sum is fp32,
/// in the order of the sources, so its bits do not depend on `isa` or on how ranges are cut. With
/// wire bf16 each source's value is rounded before it is added, and with ResultType::wire the
/// scaled sum is rounded too. Allocates nothing.
void reduce_range(Isa isa, const ReducedBuffers& buffers, Range range, Reduction reduction,
                  ResultType result);

/// The same of bf16 values: they are summed in fp32, in the order of the sources, and the scaled
/// sum is rounded once, as it is stored.
void reduce_bf16_range(Isa isa, const ReducedBf16& buffers, Range range, float scale);

}  // namespace ptbench

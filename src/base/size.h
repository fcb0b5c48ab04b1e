#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ptbench {

/// Counts of samples, elements, steps: signed, so that differences are safe.
using Size = std::int64_t;

/// Memory, always in bytes; never mixed with counts.
using Bytes = std::uint64_t;

[[nodiscard]] constexpr Bytes float_bytes(Size elements) {
  return static_cast<Bytes>(elements) * sizeof(float);
}

/// Half-open range of elements, usually of an arena.
struct Range {
  Size begin = 0;
  Size end = 0;

  [[nodiscard]] constexpr Size size() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// What both ranges hold; empty when they do not meet.
[[nodiscard]] constexpr Range intersect(Range a, Range b) {
  const Size begin = a.begin > b.begin ? a.begin : b.begin;
  const Size end = a.end < b.end ? a.end : b.end;
  return {begin, end > begin ? end : begin};
}

/// Part `index` of `count` nearly equal parts of [0, total): the first total mod count parts are
/// one longer.
[[nodiscard]] constexpr Range part_of(Size total, Size index, Size count) {
  const Size base = total / count;
  const Size longer = total % count;
  const Size begin = index * base + (index < longer ? index : longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

/// The least multiple of `multiple` that is at least `value`; both at least 0.
template <std::integral Integer>
[[nodiscard]] constexpr Integer round_up(Integer value, std::type_identity_t<Integer> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace ptbench

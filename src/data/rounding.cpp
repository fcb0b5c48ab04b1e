#include "src/data/rounding.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "src/base/error.h"

namespace ptbench {
namespace {

// The arithmetic of rounded_as_on_gpus, but each case computed for each value and one of them
// selected, so that compilers make vectors of it.

[[gnu::always_inline]] inline std::uint16_t rounded_bits(std::uint32_t bits, Bf16 /*type*/) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  const std::uint32_t nearest = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > kInfinity ? 0x7fffU : nearest);
}

[[gnu::always_inline]] inline std::uint16_t rounded_bits(std::uint32_t bits, F16 /*type*/) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  constexpr std::uint32_t kBeyond = 0x47800000U;       // 2^16
  constexpr std::uint32_t kLeastNormal = 0x38800000U;  // 2^-14
  constexpr float kHalf = 0.5F;                        // its neighbours are as far as denormal F16
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal =
      (magnitude - (112U << 23U) + 0xfffU + (magnitude >> 13U & 1U)) >> 13U;
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + kHalf) -
      std::bit_cast<std::uint32_t>(kHalf);
  std::uint32_t rounded = magnitude >= kLeastNormal ? normal : denormal;
  rounded = magnitude >= kBeyond ? 0x7c00U : rounded;
  return static_cast<std::uint16_t>(magnitude > kInfinity ? 0x7fffU : sign | rounded);
}

template <class T>
[[gnu::always_inline]] inline void round_loop(const float* from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i].bits = rounded_bits(std::bit_cast<std::uint32_t>(from[i]), T());
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("arch=x86-64-v4"), gnu::flatten]] void round_v4(const float* from, std::size_t count,
                                                              T* to) {
  round_loop(from, count, to);
}

template <class T>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] void round_v3(const float* from, std::size_t count,
                                                              T* to) {
  round_loop(from, count, to);
}
#endif

template <class T>
void round_all([[maybe_unused]] Isa isa, std::span<const float> values, std::span<T> to) {
  ensure(values.size() == to.size(), "each value has room");
#if defined(__x86_64__)
  switch (isa) {
    case Isa::x86_64_v4: return round_v4(values.data(), values.size(), to.data());
    case Isa::x86_64_v3: return round_v3(values.data(), values.size(), to.data());
    case Isa::x86_64: break;
  }
#endif
  round_loop(values.data(), values.size(), to.data());
}

}  // namespace

void round_values(Isa isa, std::span<const float> values, std::span<Bf16> to) {
  round_all(isa, values, to);
}
void round_values(Isa isa, std::span<const float> values, std::span<F16> to) {
  round_all(isa, values, to);
}

}  // namespace ptbench

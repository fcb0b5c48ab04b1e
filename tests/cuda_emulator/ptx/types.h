#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Registers of translated kernels hold raw bits, as PTX's untyped registers do; instructions give
// them a type.

namespace ptbench::emulator {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

struct F16 {
  U16 bits;
};
struct Bf16 {
  U16 bits;
};
/// Two values in a register of 32 bits, the first in its lower half.
struct F16x2 {
  U16 low, high;
};
struct Bf16x2 {
  U16 low, high;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;
template <class T>
inline constexpr bool kIsPair = std::is_same_v<T, F16x2> || std::is_same_v<T, Bf16x2>;
template <class T>
using ElementOf = std::conditional_t<std::is_same_v<T, F16x2>, F16, Bf16>;

template <std::size_t Bytes>
using BitsOf = std::conditional_t<
    Bytes == 1, U8, std::conditional_t<Bytes == 2, U16, std::conditional_t<Bytes == 4, U32, U64>>>;

/// Raw bits as a value of type T: the low bits where T is narrower.
template <class T, class Raw>
T as(Raw raw) {
  if constexpr (std::is_same_v<T, Raw>)
    return raw;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(raw);
  else
    return std::bit_cast<T>(static_cast<BitsOf<sizeof(T)>>(raw));
}

/// Puts a value's bits into a register. Integers are extended according to their sign, as loads of
/// narrow types and conversions are.
template <class Register, class T>
void set(Register& to, T value) {
  if constexpr (std::is_integral_v<T>)
    to = static_cast<Register>(value);
  else
    to = static_cast<Register>(std::bit_cast<BitsOf<sizeof(T)>>(value));
}

/// Applies `function` to the halves of pairs, each on its own.
template <class Function, class T, class... Others>
T each_half(Function function, T first, Others... others) {
  using Element = ElementOf<T>;
  return T{function(Element{first.low}, Element{others.low}...).bits,
           function(Element{first.high}, Element{others.high}...).bits};
}

}  // namespace ptbench::emulator

#pragma once

#include <limits>

#include "tests/cuda_emulator/ptx/types.h"

// Integer arithmetic, which wraps round, and bits.

namespace ptbench::emulator {

/// Twice as wide, of the same sign.
template <class T>
using WideOf = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, S32, U32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, S64, U64>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

/// In unsigned arithmetic of at least 32 bits, where nothing overflows.
template <class T>
using WrapOf = std::conditional_t<sizeof(T) == 8, U64, U32>;

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <Integer T>
T ptx_add(T a, T b) {
  return static_cast<T>(static_cast<WrapOf<T>>(a) + static_cast<WrapOf<T>>(b));
}
template <Integer T>
T ptx_sub(T a, T b) {
  return static_cast<T>(static_cast<WrapOf<T>>(a) - static_cast<WrapOf<T>>(b));
}
template <Integer T>
T ptx_mul_lo(T a, T b) {
  return static_cast<T>(static_cast<WrapOf<T>>(a) * static_cast<WrapOf<T>>(b));
}
template <Integer T>
T ptx_mul_hi(T a, T b) {
  return static_cast<T>((static_cast<WideOf<T>>(a) * static_cast<WideOf<T>>(b)) >>
                        (sizeof(T) * 8U));
}
template <Integer T>
WideOf<T> ptx_mul_wide(T a, T b) {
  return static_cast<WideOf<T>>(a) * static_cast<WideOf<T>>(b);
}
template <Integer T>
T ptx_mad_lo(T a, T b, T c) {
  return ptx_add(ptx_mul_lo(a, b), c);
}
template <Integer T>
T ptx_mad_hi(T a, T b, T c) {
  return ptx_add(ptx_mul_hi(a, b), c);
}
template <Integer T>
WideOf<T> ptx_mad_wide(T a, T b, WideOf<T> c) {
  return ptx_add(ptx_mul_wide(a, b), c);
}

inline S32 clamped_to_s32(S64 value) {
  if (value > std::numeric_limits<S32>::max()) return std::numeric_limits<S32>::max();
  if (value < std::numeric_limits<S32>::min()) return std::numeric_limits<S32>::min();
  return static_cast<S32>(value);
}
inline S32 ptx_add_sat(S32 a, S32 b) { return clamped_to_s32(S64{a} + b); }
inline S32 ptx_sub_sat(S32 a, S32 b) { return clamped_to_s32(S64{a} - b); }

/// PTX leaves division by zero open; devices give all ones. The least number by -1 wraps.
template <Integer T>
T ptx_div(T a, T b) {
  if (b == 0) return static_cast<T>(~WrapOf<T>{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(WrapOf<T>{0} - static_cast<WrapOf<T>>(a));
  return static_cast<T>(a / b);
}
/// By zero: the dividend, as devices give.
template <Integer T>
T ptx_rem(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <Integer T>
T ptx_neg(T a) {
  return ptx_sub(T{0}, a);
}
template <Integer T>
T ptx_abs(T a) {
  return a < 0 ? ptx_neg(a) : a;
}
template <Integer T>
T ptx_min(T a, T b) {
  return b < a ? b : a;
}
template <Integer T>
T ptx_max(T a, T b) {
  return a < b ? b : a;
}

template <class T>
T ptx_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T ptx_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T ptx_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T ptx_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
template <Integer T>
T ptx_cnot(T a) {
  return a == 0 ? T{1} : T{0};
}

template <Integer T>
T ptx_shl(T a, U32 count) {
  constexpr U32 kBits = sizeof(T) * 8;
  return count >= kBits ? T{0} : static_cast<T>(static_cast<WrapOf<T>>(a) << count);
}
template <Integer T>
T ptx_shr(T a, U32 count) {
  constexpr U32 kBits = sizeof(T) * 8;
  if (count >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> count);
}

/// Funnel shifts of the pair (high, low): .l gives the upper half, .r the lower.
inline U32 funnel_left(U32 low, U32 high, U32 count) {
  const U64 both = U64{high} << 32U | low;
  return static_cast<U32>((both << count) >> 32U);
}
inline U32 funnel_right(U32 low, U32 high, U32 count) {
  const U64 both = U64{high} << 32U | low;
  return static_cast<U32>(both >> count);
}
inline U32 ptx_shf_l_wrap(U32 a, U32 b, U32 count) { return funnel_left(a, b, count & 31U); }
inline U32 ptx_shf_r_wrap(U32 a, U32 b, U32 count) { return funnel_right(a, b, count & 31U); }
inline U32 ptx_shf_l_clamp(U32 a, U32 b, U32 count) {
  return funnel_left(a, b, count < 32 ? count : 32);
}
inline U32 ptx_shf_r_clamp(U32 a, U32 b, U32 count) {
  return funnel_right(a, b, count < 32 ? count : 32);
}

template <Integer T>
U32 ptx_popc(T a) {
  return static_cast<U32>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
}
template <Integer T>
U32 ptx_clz(T a) {
  return static_cast<U32>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
}
template <Integer T>
T ptx_brev(T a) {
  T reversed = 0;
  for (U32 bit = 0; bit < sizeof(T) * 8; ++bit)
    reversed |= static_cast<T>(((a >> bit) & T{1}) << (sizeof(T) * 8 - 1 - bit));
  return reversed;
}

/// The highest bit that differs from the sign; all ones where there is none.
template <Integer T>
U32 ptx_bfind(T a) {
  using Bits = std::make_unsigned_t<T>;
  const auto bits = static_cast<Bits>(a < 0 ? ~a : a);
  return bits == 0 ? ~U32{0} : static_cast<U32>(std::bit_width(bits)) - 1;
}
/// How far that bit is to be shifted to become the highest.
template <Integer T>
U32 ptx_bfind_shiftamt(T a) {
  const U32 found = ptx_bfind(a);
  return found == ~U32{0} ? found : static_cast<U32>(sizeof(T) * 8) - 1 - found;
}

/// Bit field of `length` bits from `position` on, extended by its sign: the field's last bit that
/// lies inside the register.
template <Integer T>
T ptx_bfe(T a, U32 position_register, U32 length_register) {
  const U32 position = position_register & 0xffU;
  const U32 length = length_register & 0xffU;
  constexpr U32 kLast = sizeof(T) * 8 - 1;
  const auto bit = [a](U32 index) { return static_cast<T>((a >> index) & T{1}); };
  T field = 0;
  if (std::is_signed_v<T> && length != 0) {
    const U32 top = position + length - 1;
    if (bit(top < kLast ? top : kLast) != 0) field = static_cast<T>(-1);
  }
  for (U32 index = 0; index <= kLast && index < length && position + index <= kLast; ++index)
    field = static_cast<T>((field & static_cast<T>(~(T{1} << index))) |
                           static_cast<T>(bit(position + index) << index));
  return field;
}
/// `b` with `length` bits of `a` put in at `position`.
template <Integer T>
T ptx_bfi(T a, T b, U32 position_register, U32 length_register) {
  const U32 position = position_register & 0xffU;
  const U32 length = length_register & 0xffU;
  constexpr U32 kBits = sizeof(T) * 8;
  if (position >= kBits || length == 0) return b;
  const T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const auto mask = static_cast<T>(ones << position);
  return static_cast<T>((b & static_cast<T>(~mask)) | (static_cast<T>(a << position) & mask));
}

/// Any function of three bits, by its table.
inline U32 ptx_lop3(U32 a, U32 b, U32 c, U32 table) {
  U32 result = 0;
  for (U32 row = 0; row < 8; ++row)
    if ((table >> row & 1U) != 0)
      result |=
          ((row & 4U) != 0 ? a : ~a) & ((row & 2U) != 0 ? b : ~b) & ((row & 1U) != 0 ? c : ~c);
  return result;
}

/// Four bytes out of the eight of (b, a), each chosen by a digit of `selector`; with the digit's
/// highest bit, the byte's sign eight times.
inline U32 ptx_prmt(U32 a, U32 b, U32 selector) {
  const U64 both = U64{b} << 32U | a;
  U32 result = 0;
  for (U32 place = 0; place < 4; ++place) {
    const U32 digit = selector >> (4 * place) & 15U;
    U32 byte = static_cast<U32>(both >> (8 * (digit & 7U))) & 0xffU;
    if ((digit & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;
    result |= byte << (8 * place);
  }
  return result;
}

}  // namespace ptbench::emulator

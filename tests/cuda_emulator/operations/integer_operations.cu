// Integer arithmetic.
#include <algorithm>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE integer_table

namespace ptbench::emulator::operations {

std::vector<Operation>& integer_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

/// The lower bits of an exact result.
template <class T>
Bits low(Wide exact) {
  return static_cast<std::make_unsigned_t<T>>(exact);
}
template <class T>
Wide of(Bits bits) {
  return static_cast<T>(bits);
}
/// The upper half of an exact product.
template <class T>
Bits high(Wide exact) {
  return low<T>(exact >> (8 * sizeof(T)));
}
/// 64 bits by 64 bits, unsigned: more than Wide holds.
Bits unsigned_high(U64 a, U64 b) {
  return static_cast<U64>((static_cast<unsigned __int128>(a) * b) >> 64U);
}
template <class T>
Bits quotient(Bits a, Bits b) {
  return of<T>(b) == 0 ? low<T>(-1) : low<T>(of<T>(a) / of<T>(b));
}
template <class T>
Bits remainder(Bits a, Bits b) {
  return of<T>(b) == 0 ? low<T>(of<T>(a)) : low<T>(of<T>(a) % of<T>(b));
}
Bits clamped(Wide exact) {
  return low<S32>(std::clamp<Wide>(exact, of<S32>(0x80000000), of<S32>(0x7fffffff)));
}

PTX(add_s32, "add.s32", bits, integers, (32, 32, 32), low<S32>(of<S32>(a) + of<S32>(b)))
PTX(add_u64, "add.u64", bits, integers, (64, 64, 64), low<U64>(of<U64>(a) + of<U64>(b)))
PTX(add_s16, "add.s16", bits, integers, (16, 16, 16), low<S16>(of<S16>(a) + of<S16>(b)))
PTX(add_sat_s32, "add.sat.s32", bits, integers, (32, 32, 32), clamped(of<S32>(a) + of<S32>(b)))
PTX(sub_s32, "sub.s32", bits, integers, (32, 32, 32), low<S32>(of<S32>(a) - of<S32>(b)))
PTX(sub_s64, "sub.s64", bits, integers, (64, 64, 64), low<S64>(of<S64>(a) - of<S64>(b)))
PTX(sub_u16, "sub.u16", bits, integers, (16, 16, 16), low<U16>(of<U16>(a) - of<U16>(b)))
PTX(sub_sat_s32, "sub.sat.s32", bits, integers, (32, 32, 32), clamped(of<S32>(a) - of<S32>(b)))
PTX(mul_lo_s32, "mul.lo.s32", bits, integers, (32, 32, 32), low<S32>(of<S32>(a) * of<S32>(b)))
PTX(mul_lo_u16, "mul.lo.u16", bits, integers, (16, 16, 16), low<U16>(of<U16>(a) * of<U16>(b)))
PTX(mul_lo_s64, "mul.lo.s64", bits, integers, (64, 64, 64), low<S64>(of<S64>(a) * of<S64>(b)))
PTX(mul_hi_s32, "mul.hi.s32", bits, integers, (32, 32, 32), high<S32>(of<S32>(a) * of<S32>(b)))
PTX(mul_hi_u32, "mul.hi.u32", bits, integers, (32, 32, 32), high<U32>(of<U32>(a) * of<U32>(b)))
PTX(mul_hi_s64, "mul.hi.s64", bits, integers, (64, 64, 64), high<S64>(of<S64>(a) * of<S64>(b)))
PTX(mul_hi_u64, "mul.hi.u64", bits, integers, (64, 64, 64), unsigned_high(a, b))
PTX(mul_hi_u16, "mul.hi.u16", bits, integers, (16, 16, 16), high<U16>(of<U16>(a) * of<U16>(b)))
PTX(mul_wide_s32, "mul.wide.s32", bits, integers, (64, 32, 32), low<S64>(of<S32>(a) * of<S32>(b)))
PTX(mul_wide_u32, "mul.wide.u32", bits, integers, (64, 32, 32), low<U64>(of<U32>(a) * of<U32>(b)))
PTX(mul_wide_u16, "mul.wide.u16", bits, integers, (32, 16, 16), low<U32>(of<U16>(a) * of<U16>(b)))
PTX(mul_wide_s16, "mul.wide.s16", bits, integers, (32, 16, 16), low<S32>(of<S16>(a) * of<S16>(b)))
PTX(mad_lo_s32, "mad.lo.s32", bits, integers, (32, 32, 32, 32),
    low<S32>(of<S32>(a) * of<S32>(b) + of<S32>(c)))
PTX(mad_lo_u64, "mad.lo.u64", bits, integers, (64, 64, 64, 64), static_cast<U64>(a* b + c))
PTX(mad_hi_u32, "mad.hi.u32", bits, integers, (32, 32, 32, 32),
    low<U32>(of<U32>(high<U32>(of<U32>(a) * of<U32>(b))) + of<U32>(c)))
PTX(mad_wide_s32, "mad.wide.s32", bits, integers, (64, 32, 32, 64),
    low<S64>(of<S32>(a) * of<S32>(b) + of<S64>(c)))
PTX(mad_wide_u16, "mad.wide.u16", bits, integers, (32, 16, 16, 32),
    low<U32>(of<U16>(a) * of<U16>(b) + of<U32>(c)))
PTX(div_s32, "div.s32", bits, integers, (32, 32, 32), quotient<S32>(a, b))
PTX(div_u32, "div.u32", bits, integers, (32, 32, 32), quotient<U32>(a, b))
PTX(div_s64, "div.s64", bits, integers, (64, 64, 64), quotient<S64>(a, b))
PTX(div_u64, "div.u64", bits, integers, (64, 64, 64), quotient<U64>(a, b))
PTX(div_u16, "div.u16", bits, integers, (16, 16, 16),
    (b & 0xffff) == 0 ? kAnything : quotient<U16>(a, b))
PTX(rem_s32, "rem.s32", bits, integers, (32, 32, 32), remainder<S32>(a, b))
PTX(rem_u32, "rem.u32", bits, integers, (32, 32, 32), remainder<U32>(a, b))
PTX(rem_s64, "rem.s64", bits, integers, (64, 64, 64), remainder<S64>(a, b))
PTX(rem_u16, "rem.u16", bits, integers, (16, 16, 16),
    (b & 0xffff) == 0 ? kAnything : remainder<U16>(a, b))
PTX(neg_s32, "neg.s32", bits, integers, (32, 32), low<S32>(-of<S32>(a)))
PTX(neg_s64, "neg.s64", bits, integers, (64, 64), low<S64>(-of<S64>(a)))
PTX(abs_s32, "abs.s32", bits, integers, (32, 32),
    low<S32>(of<S32>(a) < 0 ? -of<S32>(a) : of<S32>(a)))
PTX(abs_s16, "abs.s16", bits, integers, (16, 16),
    low<S16>(of<S16>(a) < 0 ? -of<S16>(a) : of<S16>(a)))
PTX(min_s32, "min.s32", bits, integers, (32, 32, 32), low<S32>(std::min(of<S32>(a), of<S32>(b))))
PTX(min_u64, "min.u64", bits, integers, (64, 64, 64), low<U64>(std::min(of<U64>(a), of<U64>(b))))
PTX(min_u16, "min.u16", bits, integers, (16, 16, 16), low<U16>(std::min(of<U16>(a), of<U16>(b))))
PTX(max_u32, "max.u32", bits, integers, (32, 32, 32), low<U32>(std::max(of<U32>(a), of<U32>(b))))
PTX(max_s64, "max.s64", bits, integers, (64, 64, 64), low<S64>(std::max(of<S64>(a), of<S64>(b))))
PTX(max_s16, "max.s16", bits, integers, (16, 16, 16), low<S16>(std::max(of<S16>(a), of<S16>(b))))

}  // namespace
}  // namespace ptbench::emulator::operations

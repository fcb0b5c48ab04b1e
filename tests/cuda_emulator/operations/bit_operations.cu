// Logic, shifts, and bits one by one.
#include <algorithm>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE bit_table

namespace ptbench::emulator::operations {

std::vector<Operation>& bit_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

constexpr Bits mask_of(int width) { return width == 64 ? ~Bits{0} : (Bits{1} << width) - 1; }
bool bit(Bits bits, int index) { return (bits >> index & 1U) != 0; }

/// The result whose bit `index` is what `bit_at(index)` says.
template <class BitAt>
Bits made_of(int width, BitAt bit_at) {
  Bits made = 0;
  for (int index = 0; index < width; ++index)
    if (bit_at(index)) made |= Bits{1} << index;
  return made;
}
/// Shifts of a register by a count of 32 bits.
Bits left(Bits a, Bits count_register, int width) {
  const Bits count = count_register & 0xffffffff;
  return made_of(width, [=](int index) {
    return static_cast<Bits>(index) >= count && bit(a, index - static_cast<int>(count));
  });
}
Bits right(Bits a, Bits count_register, int width, bool is_signed) {
  const Bits count = count_register & 0xffffffff;
  return made_of(width, [=](int index) {
    const bool inside = count < 64 && index + static_cast<int>(count) < width;
    return inside ? bit(a, index + static_cast<int>(count)) : is_signed && bit(a, width - 1);
  });
}
int ones(Bits bits) {
  int count = 0;
  for (int index = 0; index < 64; ++index) count += bit(bits, index) ? 1 : 0;
  return count;
}
/// The highest bit that is set; -1: none.
int highest(Bits bits) {
  int found = -1;
  for (int index = 0; index < 64; ++index)
    if (bit(bits, index)) found = index;
  return found;
}
/// The highest bit unlike the sign.
int highest_significant(Bits bits, int width) {
  const Bits value = bits & mask_of(width);
  return highest(bit(value, width - 1) ? ~value & mask_of(width) : value);
}
/// PTX's own pseudocode of bfe.
Bits extracted(Bits a, Bits b, Bits c, int width, bool is_signed) {
  const int position = static_cast<int>(b & 0xff);
  const int length = static_cast<int>(c & 0xff);
  const int last = std::min(position + length - 1, width - 1);
  const bool sign = is_signed && length != 0 && bit(a, last);
  return made_of(width, [=](int index) {
    return index < length && position + index < width ? bit(a, position + index) : sign;
  });
}
/// Four bytes of eight.
Bits permuted(Bits a, Bits b, Bits selector) {
  const Bits all = (a & 0xffffffff) | b << 32U;
  return made_of(32, [=](int index) {
    const int digit = static_cast<int>(selector >> (index / 8 * 4) & 15U);
    return bit(all, digit % 8 * 8 + (digit >= 8 ? 7 : index % 8));
  });
}

PTX(and_b32, "and.b32", bits, integers, (32, 32, 32), a& b& mask_of(32))
PTX(and_b64, "and.b64", bits, integers, (64, 64, 64), a& b)
PTX(or_b32, "or.b32", bits, integers, (32, 32, 32), (a | b) & mask_of(32))
PTX(or_b16, "or.b16", bits, integers, (16, 16, 16), (a | b) & mask_of(16))
PTX(xor_b64, "xor.b64", bits, integers, (64, 64, 64), a ^ b)
PTX(xor_b16, "xor.b16", bits, integers, (16, 16, 16), (a ^ b) & mask_of(16))
PTX(not_b32, "not.b32", bits, integers, (32, 32), ~a& mask_of(32))
PTX(not_b16, "not.b16", bits, integers, (16, 16), ~a& mask_of(16))
PTX(cnot_b32, "cnot.b32", bits, integers, (32, 32), (a & mask_of(32)) == 0 ? 1 : 0)
OPERATION(predicates, "and.pred, or.pred, xor.pred, not.pred", bits, integers,
          PTX_RUN2(32, 32, 32,
                   "{ .reg .pred p, q, r; .reg .u32 one;"
                   " setp.lt.u32 p, %1, 7; setp.lt.u32 q, %2, 33;"
                   " and.pred r, p, q; selp.u32 %0, 1, 0, r;"
                   " or.pred r, p, q; selp.u32 one, 2, 0, r; or.b32 %0, %0, one;"
                   " xor.pred r, p, q; selp.u32 one, 4, 0, r; or.b32 %0, %0, one;"
                   " not.pred r, p; selp.u32 one, 8, 0, r; or.b32 %0, %0, one; }"),
          [&] {
            const bool p = (a & mask_of(32)) < 7;
            const bool q = (b & mask_of(32)) < 33;
            return Bits{p && q ? 1U : 0U} | (p || q ? 2U : 0U) | (p != q ? 4U : 0U) |
                   (!p ? 8U : 0U);
          }())
PTX(shl_b32, "shl.b32", bits, integers, (32, 32, 32), left(a, b, 32))
PTX(shl_b64, "shl.b64", bits, integers, (64, 64, 32), left(a, b, 64))
PTX(shl_b16, "shl.b16", bits, integers, (16, 16, 32), left(a, b, 16))
PTX(shr_u32, "shr.u32", bits, integers, (32, 32, 32), right(a, b, 32, false))
PTX(shr_s32, "shr.s32", bits, integers, (32, 32, 32), right(a, b, 32, true))
PTX(shr_b64, "shr.b64", bits, integers, (64, 64, 32), right(a, b, 64, false))
PTX(shr_s64, "shr.s64", bits, integers, (64, 64, 32), right(a, b, 64, true))
PTX(shr_s16, "shr.s16", bits, integers, (16, 16, 32), right(a, b, 16, true))
PTX(shf_l_wrap, "shf.l.wrap.b32", bits, integers, (32, 32, 32, 32),
    left((a & mask_of(32)) | b << 32U, c & 31, 64) >> 32U)
PTX(shf_r_wrap, "shf.r.wrap.b32", bits, integers, (32, 32, 32, 32),
    right((a & mask_of(32)) | b << 32U, c & 31, 64, false) & mask_of(32))
PTX(shf_l_clamp, "shf.l.clamp.b32", bits, integers, (32, 32, 32, 32),
    left((a & mask_of(32)) | b << 32U, std::min<Bits>(c& mask_of(32), 32), 64) >> 32U)
PTX(shf_r_clamp, "shf.r.clamp.b32", bits, integers, (32, 32, 32, 32),
    right((a & mask_of(32)) | b << 32U, std::min<Bits>(c& mask_of(32), 32), 64, false) &
        mask_of(32))
PTX(popc_b32, "popc.b32", bits, integers, (32, 32), static_cast<Bits>(ones(a& mask_of(32))))
PTX(popc_b64, "popc.b64", bits, integers, (32, 64), static_cast<Bits>(ones(a)))
PTX(clz_b32, "clz.b32", bits, integers, (32, 32), static_cast<Bits>(31 - highest(a & mask_of(32))))
PTX(clz_b64, "clz.b64", bits, integers, (32, 64), static_cast<Bits>(63 - highest(a)))
PTX(brev_b32, "brev.b32", bits, integers, (32, 32),
    made_of(32, [&](int index) { return bit(a, 31 - index); }))
PTX(brev_b64, "brev.b64", bits, integers, (64, 64),
    made_of(64, [&](int index) { return bit(a, 63 - index); }))
PTX(bfind_u32, "bfind.u32", bits, integers, (32, 32),
    static_cast<std::uint32_t>(highest(a& mask_of(32))))
PTX(bfind_s32, "bfind.s32", bits, integers, (32, 32),
    static_cast<std::uint32_t>(highest_significant(a, 32)))
PTX(bfind_u64, "bfind.u64", bits, integers, (32, 64), static_cast<std::uint32_t>(highest(a)))
PTX(bfind_shiftamt, "bfind.shiftamt.u32", bits, integers, (32, 32),
    (a & mask_of(32)) == 0 ? mask_of(32) : static_cast<Bits>(31 - highest(a & mask_of(32))))
PTX(bfe_u32, "bfe.u32", bits, integers, (32, 32, 32, 32), extracted(a, b, c, 32, false))
PTX(bfe_s32, "bfe.s32", bits, integers, (32, 32, 32, 32), extracted(a, b, c, 32, true))
PTX(bfe_u64, "bfe.u64", bits, integers, (64, 64, 32, 32), extracted(a, b, c, 64, false))
PTX(bfe_s64, "bfe.s64", bits, integers, (64, 64, 32, 32), extracted(a, b, c, 64, true))
OPERATION(bfi_b32, "bfi.b32", bits, integers,
          PTX_RUN3(32, 32, 32, 32, "bfi.b32 %0, %1, %2, %3, 5;"), made_of(32, [&](int index) {
            const int position = static_cast<int>(c & 0xff);
            return index >= position && index < position + 5 ? bit(a, index - position)
                                                             : bit(b, index);
          }))
OPERATION(bfi_b64, "bfi.b64", bits, integers,
          PTX_RUN3(64, 64, 64, 32, "bfi.b64 %0, %1, %2, 11, %3;"), made_of(64, [&](int index) {
            const int length = static_cast<int>(c & 0xff);
            return index >= 11 && index < 11 + length ? bit(a, index - 11) : bit(b, index);
          }))
OPERATION(lop3_b32, "lop3.b32", bits, integers,
          PTX_RUN3(32, 32, 32, 32, "lop3.b32 %0, %1, %2, %3, 0x2d;"), made_of(32, [&](int index) {
            return bit(0x2d,
                       (bit(a, index) ? 4 : 0) + (bit(b, index) ? 2 : 0) + (bit(c, index) ? 1 : 0));
          }))
PTX(prmt_b32, "prmt.b32", bits, integers, (32, 32, 32, 32), permuted(a, b, c))

}  // namespace
}  // namespace ptbench::emulator::operations

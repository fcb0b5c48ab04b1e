// Comparisons and choices.
#include <cuda_fp16.h>

#include <cmath>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE compare_table

namespace ptbench::emulator::operations {

std::vector<Operation>& compare_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

// setp into a predicate, seen as 1 or 0.
#define PTX_SETP(W, WORDS) \
  PTX_RUN2(32, W, W, "{ .reg .pred p; setp." WORDS " p, %1, %2; selp.u32 %0, 1, 0, p; }")
#define PTX_TESTP(W, WORDS) \
  PTX_RUN1(32, W, "{ .reg .pred p; testp." WORDS " p, %1; selp.u32 %0, 1, 0, p; }")

std::int32_t s32(Bits bits) { return static_cast<std::int32_t>(bits); }
std::uint32_t u32(Bits bits) { return static_cast<std::uint32_t>(bits); }
std::int16_t s16(Bits bits) { return static_cast<std::int16_t>(bits); }
std::int64_t s64(Bits bits) { return static_cast<std::int64_t>(bits); }
Bits truth(bool holds) { return holds ? 1 : 0; }
bool unordered(Bits a, Bits b) { return std::isnan(f32(a)) || std::isnan(f32(b)); }
float f16(Bits bits) {
  return __half2float(static_cast<__half>(__half_raw{static_cast<unsigned short>(bits)}));
}

OPERATION(eq_s32, "setp.eq.s32", bits, integers, PTX_SETP(32, "eq.s32"), truth(s32(a) == s32(b)))
OPERATION(ne_b64, "setp.ne.b64", bits, integers, PTX_SETP(64, "ne.b64"), truth(a != b))
OPERATION(lt_s32, "setp.lt.s32", bits, integers, PTX_SETP(32, "lt.s32"), truth(s32(a) < s32(b)))
OPERATION(le_u32, "setp.le.u32", bits, integers, PTX_SETP(32, "le.u32"), truth(u32(a) <= u32(b)))
OPERATION(gt_s64, "setp.gt.s64", bits, integers, PTX_SETP(64, "gt.s64"), truth(s64(a) > s64(b)))
OPERATION(ge_u64, "setp.ge.u64", bits, integers, PTX_SETP(64, "ge.u64"), truth(a >= b))
OPERATION(lt_s16, "setp.lt.s16", bits, integers, PTX_SETP(16, "lt.s16"), truth(s16(a) < s16(b)))
OPERATION(lo_u32, "setp.lo.u32", bits, integers, PTX_SETP(32, "lo.u32"), truth(u32(a) < u32(b)))
OPERATION(ls_u32, "setp.ls.u32", bits, integers, PTX_SETP(32, "ls.u32"), truth(u32(a) <= u32(b)))
OPERATION(hi_u32, "setp.hi.u32", bits, integers, PTX_SETP(32, "hi.u32"), truth(u32(a) > u32(b)))
OPERATION(hs_u32, "setp.hs.u32", bits, integers, PTX_SETP(32, "hs.u32"), truth(u32(a) >= u32(b)))
OPERATION(eq_f32, "setp.eq.f32", bits, singles, PTX_SETP(32, "eq.f32"), truth(f32(a) == f32(b)))
OPERATION(ne_f32, "setp.ne.f32", bits, singles, PTX_SETP(32, "ne.f32"),
          truth(!unordered(a, b) && f32(a) != f32(b)))
OPERATION(lt_f32, "setp.lt.f32", bits, singles, PTX_SETP(32, "lt.f32"), truth(f32(a) < f32(b)))
OPERATION(le_f32, "setp.le.f32", bits, singles, PTX_SETP(32, "le.f32"), truth(f32(a) <= f32(b)))
OPERATION(gt_f32, "setp.gt.f32", bits, singles, PTX_SETP(32, "gt.f32"), truth(f32(a) > f32(b)))
OPERATION(ge_f32, "setp.ge.f32", bits, singles, PTX_SETP(32, "ge.f32"), truth(f32(a) >= f32(b)))
OPERATION(equ_f32, "setp.equ.f32", bits, singles, PTX_SETP(32, "equ.f32"),
          truth(unordered(a, b) || f32(a) == f32(b)))
OPERATION(neu_f32, "setp.neu.f32", bits, singles, PTX_SETP(32, "neu.f32"), truth(f32(a) != f32(b)))
OPERATION(ltu_f32, "setp.ltu.f32", bits, singles, PTX_SETP(32, "ltu.f32"),
          truth(!(f32(a) >= f32(b))))
OPERATION(leu_f32, "setp.leu.f32", bits, singles, PTX_SETP(32, "leu.f32"),
          truth(!(f32(a) > f32(b))))
OPERATION(gtu_f32, "setp.gtu.f32", bits, singles, PTX_SETP(32, "gtu.f32"),
          truth(!(f32(a) <= f32(b))))
OPERATION(geu_f32, "setp.geu.f32", bits, singles, PTX_SETP(32, "geu.f32"),
          truth(!(f32(a) < f32(b))))
OPERATION(num_f32, "setp.num.f32", bits, singles, PTX_SETP(32, "num.f32"), truth(!unordered(a, b)))
OPERATION(nan_f32, "setp.nan.f32", bits, singles, PTX_SETP(32, "nan.f32"), truth(unordered(a, b)))
OPERATION(lt_ftz_f32, "setp.lt.ftz.f32", bits, singles, PTX_SETP(32, "lt.ftz.f32"), [&] {
  const auto flush = [](float value) { return std::fabs(value) < 1.17549435e-38F ? 0.0F : value; };
  return truth(flush(f32(a)) < flush(f32(b)));
}())
OPERATION(le_f64, "setp.le.f64", bits, doubles, PTX_SETP(64, "le.f64"), truth(f64(a) <= f64(b)))
OPERATION(lt_f16, "setp.lt.f16", bits, halves, PTX_SETP(16, "lt.f16"), truth(f16(a) < f16(b)))
OPERATION(neu_f16, "setp.neu.f16", bits, halves, PTX_SETP(16, "neu.f16"), truth(f16(a) != f16(b)))
OPERATION(pair_f16x2, "setp.gt.f16x2", bits, half_pairs,
          PTX_RUN2(32, 32, 32,
                   "{ .reg .pred p, q; .reg .u32 two; setp.gt.f16x2 p|q, %1, %2;"
                   " selp.u32 %0, 1, 0, p; selp.u32 two, 2, 0, q; or.b32 %0, %0, two; }"),
          truth(f16(a) > f16(b)) + 2 * truth(f16(a >> 16U) > f16(b >> 16U)))
OPERATION(combined, "setp.lt.and.s32", bits, integers,
          PTX_RUN3(32, 32, 32, 32,
                   "{ .reg .pred p, q, r; .reg .u32 two; setp.gt.s32 r, %3, 5;"
                   " setp.lt.and.s32 p|q, %1, %2, r;"
                   " selp.u32 %0, 1, 0, p; selp.u32 two, 2, 0, q; or.b32 %0, %0, two; }"),
          truth(s32(a) < s32(b) && s32(c) > 5) + 2 * truth(s32(a) >= s32(b) && s32(c) > 5))
OPERATION(either, "setp.eq.or.u32", bits, integers,
          PTX_RUN3(32, 32, 32, 32,
                   "{ .reg .pred p, r; setp.gt.s32 r, %3, 5; setp.eq.or.u32 p, %1, %2, !r;"
                   " selp.u32 %0, 1, 0, p; }"),
          truth(u32(a) == u32(b) || s32(c) <= 5))
OPERATION(one_of, "setp.eq.xor.u32", bits, integers,
          PTX_RUN3(32, 32, 32, 32,
                   "{ .reg .pred p, r; setp.gt.s32 r, %3, 5; setp.eq.xor.u32 p, %1, %2, r;"
                   " selp.u32 %0, 1, 0, p; }"),
          truth((u32(a) == u32(b)) != (s32(c) > 5)))
PTX(set_u32, "set.lt.u32.s32", bits, integers, (32, 32, 32), s32(a) < s32(b) ? 0xffffffffU : 0)
PTX(set_f32, "set.gtu.f32.f32", f32, singles, (32, 32, 32),
    bits_of(!(f32(a) <= f32(b)) ? 1.0F : 0.0F))
PTX(set_f16x2, "set.le.f16x2.f16x2", bits, half_pairs, (32, 32, 32),
    (f16(a) <= f16(b) ? 0x3c00U : 0U) | (f16(a >> 16U) <= f16(b >> 16U) ? 0x3c000000U : 0U))
OPERATION(selp_b64, "selp.b64", bits, integers,
          PTX_RUN3(64, 64, 64, 32,
                   "{ .reg .pred p; setp.lt.s32 p, %3, 9; selp.b64 %0, %1, %2, p; }"),
          s32(c) < 9 ? a : b)
PTX(slct_s32, "slct.s32.s32", bits, integers, (32, 32, 32, 32), u32(s32(c) >= 0 ? a : b))
PTX(slct_f32, "slct.f32.f32", f32, singles, (32, 32, 32, 32), f32(c) >= 0 ? u32(a) : u32(b))
OPERATION(finite, "testp.finite.f32", bits, singles, PTX_TESTP(32, "finite.f32"),
          truth((a & 0x7f800000U) != 0x7f800000U))
OPERATION(infinite, "testp.infinite.f32", bits, singles, PTX_TESTP(32, "infinite.f32"),
          truth((a & 0x7fffffffU) == 0x7f800000U))
OPERATION(number, "testp.number.f64", bits, doubles, PTX_TESTP(64, "number.f64"),
          truth(!std::isnan(f64(a))))
OPERATION(notanumber, "testp.notanumber.f32", bits, singles, PTX_TESTP(32, "notanumber.f32"),
          truth(std::isnan(f32(a))))
OPERATION(normal, "testp.normal.f32", bits, singles, PTX_TESTP(32, "normal.f32"),
          truth((a & 0x7f800000U) != 0 && (a & 0x7f800000U) != 0x7f800000U))
OPERATION(subnormal, "testp.subnormal.f32", bits, singles, PTX_TESTP(32, "subnormal.f32"),
          truth((a & 0x7f800000U) == 0 && (a & 0x7fffffU) != 0))

}  // namespace
}  // namespace ptbench::emulator::operations

// cvt, and mov between registers and their parts.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <limits>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE convert_table

namespace ptbench::emulator::operations {

std::vector<Operation>& convert_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

/// Into a register of T's width, extended by T's sign to `Register`.
template <class Register, class T, class From>
Bits cut(Bits bits) {
  return static_cast<Register>(static_cast<T>(static_cast<From>(bits)));
}
template <class Register, class T>
Bits clamped(Wide value) {
  const Wide least = std::numeric_limits<T>::min();
  const Wide most = std::numeric_limits<T>::max();
  return static_cast<Register>(static_cast<T>(value < least ? least : value > most ? most : value));
}
/// A floating-point number that is integral already, into T as PTX has it.
template <class T>
Bits integral(long double value, bool is_long) {
  using Bare = std::make_unsigned_t<T>;
  if (std::isnan(value))
    return is_long ? static_cast<Bare>(Bare{1} << (8 * sizeof(T) - 1)) : Bare{0};
  if (value >= std::ldexp(1.0L, std::numeric_limits<T>::digits))
    return static_cast<Bare>(std::numeric_limits<T>::max());
  if (value <= static_cast<long double>(std::numeric_limits<T>::min()))
    return static_cast<Bare>(std::numeric_limits<T>::min());
  return static_cast<Bare>(static_cast<T>(value));
}
/// To the nearest, ties to even, whatever the host's mode.
long double nearest(long double value) {
  if (!std::isfinite(value)) return value;
  const long double below = std::floor(value);
  const long double rest = value - below;
  const bool is_below = rest < 0.5L || (rest == 0.5L && std::fmod(below, 2.0L) == 0);
  return std::copysign(is_below ? below : below + 1, value);
}
Bits half_of(float value) { return static_cast<__half_raw>(__float2half_rn(value)).x; }
Bits bfloat_of(float value) { return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x; }
float half_value(Bits bits) {
  return __half2float(static_cast<__half>(__half_raw{static_cast<unsigned short>(bits)}));
}
Bits rectified(Bits bits, float value) { return std::isnan(value) ? 0x7fff : value > 0 ? bits : 0; }
/// The float next to `value` on that side, or the value itself where it is one.
Bits directed(double value, bool up) {
  float found = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(value)) return bits_of(found);
  if (up && found < value) found = std::nextafterf(found, INFINITY);
  if (!up && found > value) found = std::nextafterf(found, -INFINITY);
  return bits_of(found);
}

PTX(s32_s8, "cvt.s32.s8", bits, integers, (32, 32), (cut<U32, S8, U64>(a)))
PTX(u32_u8, "cvt.u32.u8", bits, integers, (32, 32), (cut<U32, U8, U64>(a)))
PTX(s64_s32, "cvt.s64.s32", bits, integers, (64, 32), (cut<U64, S32, U64>(a)))
PTX(u64_u32, "cvt.u64.u32", bits, integers, (64, 32), (cut<U64, U32, U64>(a)))
PTX(u32_u64, "cvt.u32.u64", bits, integers, (32, 64), (cut<U32, U32, U64>(a)))
PTX(s16_s32, "cvt.s16.s32", bits, integers, (16, 32), (cut<U16, S16, U64>(a)))
PTX(sat_u8_s32, "cvt.sat.u8.s32", bits, integers, (32, 32), (clamped<U32, U8>(static_cast<S32>(a))))
PTX(sat_s8_s32, "cvt.sat.s8.s32", bits, integers, (32, 32), (clamped<U32, S8>(static_cast<S32>(a))))
PTX(sat_u32_s64, "cvt.sat.u32.s64", bits, integers, (32, 64),
    (clamped<U32, U32>(static_cast<S64>(a))))
PTX(sat_s32_u32, "cvt.sat.s32.u32", bits, integers, (32, 32),
    (clamped<U32, S32>(static_cast<U32>(a))))
PTX(rn_f32_s32, "cvt.rn.f32.s32", f32, integers, (32, 32),
    bits_of(static_cast<float>(static_cast<S32>(a))))
PTX(rn_f32_u64, "cvt.rn.f32.u64", f32, integers, (32, 64),
    bits_of(static_cast<float>(static_cast<U64>(a))))
PTX(rn_f32_s64, "cvt.rn.f32.s64", f32, integers, (32, 64),
    bits_of(static_cast<float>(static_cast<S64>(a))))
PTX(rz_f32_u32, "cvt.rz.f32.u32", f32, integers, (32, 32),
    directed(static_cast<double>(static_cast<U32>(a)), false))
PTX(rp_f32_s32, "cvt.rp.f32.s32", f32, integers, (32, 32),
    directed(static_cast<double>(static_cast<S32>(a)), true))
PTX(rn_f64_s32, "cvt.rn.f64.s32", f64, integers, (64, 32),
    bits_of(static_cast<double>(static_cast<S32>(a))))
PTX(rn_f64_u64, "cvt.rn.f64.u64", f64, integers, (64, 64),
    bits_of(static_cast<double>(static_cast<U64>(a))))
PTX(rn_f16_s32, "cvt.rn.f16.s32", f16, integers, (16, 32),
    static_cast<__half_raw>(__int2half_rn(static_cast<S32>(a))).x)
PTX(rzi_s32_f32, "cvt.rzi.s32.f32", bits, singles, (32, 32),
    integral<S32>(std::trunc(f32(a)), false))
PTX(rni_s32_f32, "cvt.rni.s32.f32", bits, singles, (32, 32), integral<S32>(nearest(f32(a)), false))
PTX(rmi_s32_f32, "cvt.rmi.s32.f32", bits, singles, (32, 32),
    integral<S32>(std::floor(f32(a)), false))
PTX(rpi_u32_f32, "cvt.rpi.u32.f32", bits, singles, (32, 32),
    integral<U32>(std::ceil(f32(a)), false))
PTX(rzi_s64_f32, "cvt.rzi.s64.f32", bits, singles, (64, 32),
    integral<S64>(std::trunc(f32(a)), true))
PTX(rzi_u64_f32, "cvt.rzi.u64.f32", bits, singles, (64, 32),
    integral<U64>(std::trunc(f32(a)), true))
PTX(rzi_s32_f64, "cvt.rzi.s32.f64", bits, doubles, (32, 64),
    integral<S32>(std::trunc(f64(a)), true))
PTX(rni_s64_f64, "cvt.rni.s64.f64", bits, doubles, (64, 64), integral<S64>(nearest(f64(a)), true))
PTX(rzi_u16_f32, "cvt.rzi.u16.f32", bits, singles, (16, 32),
    integral<U16>(std::trunc(f32(a)), false))
PTX(rzi_s32_f16, "cvt.rzi.s32.f16", bits, halves, (32, 16),
    integral<S32>(std::trunc(half_value(a)), false))
PTX(rni_f32_f32, "cvt.rni.f32.f32", f32, singles, (32, 32),
    bits_of(static_cast<float>(nearest(f32(a)))))
PTX(rmi_f32_f32, "cvt.rmi.f32.f32", f32, singles, (32, 32), bits_of(std::floor(f32(a))))
PTX(rzi_f64_f64, "cvt.rzi.f64.f64", f64, doubles, (64, 64), bits_of(std::trunc(f64(a))))
PTX(sat_f32_f32, "cvt.sat.f32.f32", f32, singles, (32, 32),
    bits_of(f32(a) >= 1  ? 1.0F
            : f32(a) > 0 ? f32(a)
                         : 0.0F))
PTX(ftz_f32_f32, "cvt.ftz.f64.f32", f64, singles, (64, 32),
    bits_of(static_cast<double>(std::fabs(f32(a)) < 1.17549435e-38F ? std::copysign(0.0F, f32(a))
                                                                    : f32(a))))
PTX(f64_f32, "cvt.f64.f32", f64, singles, (64, 32), bits_of(static_cast<double>(f32(a))))
PTX(rn_f32_f64, "cvt.rn.f32.f64", f32, doubles, (32, 64), bits_of(static_cast<float>(f64(a))))
PTX(rm_f32_f64, "cvt.rm.f32.f64", f32, doubles, (32, 64), directed(f64(a), false))
PTX(rz_f32_f64, "cvt.rz.f32.f64", f32, doubles, (32, 64), directed(f64(a), f64(a) < 0))
PTX(f32_f16, "cvt.f32.f16", f32, halves, (32, 16), bits_of(half_value(a)))
PTX(rn_f16_f32, "cvt.rn.f16.f32", f16, singles, (16, 32), half_of(f32(a)))
PTX(rz_f16_f32, "cvt.rz.f16.f32", f16, singles, (16, 32),
    static_cast<__half_raw>(__float2half_rz(f32(a))).x)
PTX(rn_f16_f64, "cvt.rn.f16.f64", f16, doubles, (16, 64),
    static_cast<__half_raw>(__double2half(f64(a))).x)
PTX(rn_bf16_f32, "cvt.rn.bf16.f32", bf16, singles, (16, 32), bfloat_of(f32(a)))
PTX(rz_bf16_f32, "cvt.rz.bf16.f32", bf16, singles, (16, 32),
    static_cast<__nv_bfloat16_raw>(__float2bfloat16_rz(f32(a))).x)
PTX(rn_relu_bf16_f32, "cvt.rn.relu.bf16.f32", bf16, singles, (16, 32),
    rectified(bfloat_of(f32(a)), f32(a)))
PTX(rn_bf16x2_f32, "cvt.rn.bf16x2.f32", bf16_pair, singles, (32, 32, 32),
    bfloat_of(f32(a)) << 16U | bfloat_of(f32(b)))
PTX(rn_f16x2_f32, "cvt.rn.f16x2.f32", f16_pair, singles, (32, 32, 32),
    half_of(f32(a)) << 16U | half_of(f32(b)))
PTX(rna_tf32_f32, "cvt.rna.tf32.f32", f32, singles, (32, 32), [&] {
  // Ten digits behind the point, ties away from zero, as a product with a power of two.
  const float value = f32(a);
  if (!std::isfinite(value)) return a & 0xffffffffU;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = exponent < -125 ? -125 : exponent;
  const double unit = std::ldexp(1.0, exponent - 11);
  return bits_of(static_cast<float>(std::round(value / unit) * unit));
}())
OPERATION(mov_pack, "mov.b64 of two", bits, integers, PTX_RUN2(64, 32, 32, "mov.b64 %0, {%1, %2};"),
          static_cast<U32>(a) | static_cast<Bits>(static_cast<U32>(b)) << 32U)
OPERATION(mov_pack4, "mov.b64 of four", bits, integers,
          PTX_RUN2(64, 16, 16, "mov.b64 %0, {%1, %2, %2, %1};"),
          static_cast<U16>(a) * 0x1000000000001ULL + static_cast<U16>(b) * 0x100010000ULL)
OPERATION(mov_unpack, "mov.b32 into two", bits, integers,
          PTX_RUN1(16, 32, "{ .reg .b16 low; mov.b32 {low, %0}, %1; }"), static_cast<U16>(a >> 16U))
OPERATION(mov_part, "mov.b64 into one of two", bits, integers,
          PTX_RUN1(32, 64, "mov.b64 {_, %0}, %1;"), static_cast<U32>(a >> 32U))

}  // namespace
}  // namespace ptbench::emulator::operations

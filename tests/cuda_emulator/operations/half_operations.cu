// Arithmetic in f16, bf16 and pairs of them. References compute in double, rounded down and up, and
// convert with NVIDIA's own functions for the host; where the two differ, nothing is told.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfenv>
#include <cmath>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE half_table

namespace ptbench::emulator::operations {

std::vector<Operation>& half_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

struct Half {
  static double value(Bits bits) {
    return static_cast<double>(
        __half2float(static_cast<__half>(__half_raw{static_cast<unsigned short>(bits)})));
  }
  static Bits of(double value) { return static_cast<__half_raw>(__double2half(value)).x; }
};
struct Bfloat {
  static double value(Bits bits) { return static_cast<double>(f32((bits & 0xffffU) << 16U)); }
  static Bits of(double value) {
    return static_cast<__nv_bfloat16_raw>(__double2bfloat16(value)).x;
  }
};

/// `compute` of the values in double under both roundings, in the format.
template <class Format, class Compute>
Bits both_ways(Compute compute) {
  const int before = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  volatile double low = compute();
  std::fesetround(FE_UPWARD);
  volatile double high = compute();
  std::fesetround(before);
  const Bits lower = Format::of(low);
  const Bits upper = Format::of(high);
  // Zero as a sum of opposites has the sign of the rounding.
  if (low == 0 && high == 0) return Format::of(static_cast<double>(compute()));
  return lower == upper ? lower : kAnything;
}
template <class Format>
Bits added(Bits a, Bits b) {
  volatile double x = Format::value(a);
  volatile double y = Format::value(b);
  return both_ways<Format>([&] { return x + y; });
}
template <class Format>
Bits subtracted(Bits a, Bits b) {
  return added<Format>(a, b ^ 0x8000U);
}
template <class Format>
Bits multiplied(Bits a, Bits b) {
  return Format::of(Format::value(a) * Format::value(b));
}
template <class Format>
Bits fused(Bits a, Bits b, Bits c) {
  volatile double x = Format::value(a) * Format::value(b);
  volatile double y = Format::value(c);
  return both_ways<Format>([&] { return x + y; });
}
template <class Format>
Bits lesser(Bits a, Bits b) {
  const double x = Format::value(a);
  const double y = Format::value(b);
  if (std::isnan(x)) return b & 0xffffU;
  if (std::isnan(y)) return a & 0xffffU;
  if (x == 0 && y == 0) return (a | b) & 0x8000U;
  return (x < y ? a : b) & 0xffffU;
}
template <class Format>
Bits larger(Bits a, Bits b) {
  return lesser<Format>(a ^ 0x8000U, b ^ 0x8000U) ^ 0x8000U;
}
template <class Format>
Bits with_nan(Bits a, Bits b, Bits otherwise) {
  return std::isnan(Format::value(a)) || std::isnan(Format::value(b)) ? 0x7fff : otherwise;
}
template <class Format>
Bits rectified(Bits bits) {
  if (bits == kAnything) return bits;
  const double value = Format::value(bits);
  return std::isnan(value) ? 0x7fff : value > 0 ? bits : 0;
}
Bits saturated(Bits bits) {
  if (bits == kAnything) return bits;
  const double value = Half::value(bits);
  return value >= 1 ? 0x3c00 : value > 0 ? bits : 0;
}
/// A reference for each half of a pair.
template <class Reference>
Bits each(Reference reference) {
  const Bits low = reference(0);
  const Bits high = reference(16);
  return low == kAnything || high == kAnything ? kAnything : low | high << 16U;
}

PTX(add_f16, "add.f16", f16, halves, (16, 16, 16), added<Half>(a, b))
PTX(sub_f16, "sub.f16", f16, halves, (16, 16, 16), subtracted<Half>(a, b))
PTX(mul_f16, "mul.f16", f16, halves, (16, 16, 16), multiplied<Half>(a, b))
PTX(fma_f16, "fma.rn.f16", f16, halves, (16, 16, 16, 16), fused<Half>(a, b, c))
PTX(fma_sat_f16, "fma.rn.sat.f16", f16, halves, (16, 16, 16, 16), saturated(fused<Half>(a, b, c)))
PTX(fma_relu_f16, "fma.rn.relu.f16", f16, halves, (16, 16, 16, 16),
    rectified<Half>(fused<Half>(a, b, c)))
PTX(fma_bf16, "fma.rn.bf16", bf16, bfloats, (16, 16, 16, 16), fused<Bfloat>(a, b, c))
PTX(fma_relu_bf16, "fma.rn.relu.bf16", bf16, bfloats, (16, 16, 16, 16),
    rectified<Bfloat>(fused<Bfloat>(a, b, c)))
PTX(add_f16x2, "add.f16x2", f16_pair, half_pairs, (32, 32, 32),
    each([&](int at) { return added<Half>(a >> at, b >> at); }))
PTX(sub_f16x2, "sub.f16x2", f16_pair, half_pairs, (32, 32, 32),
    each([&](int at) { return subtracted<Half>(a >> at, b >> at); }))
PTX(mul_f16x2, "mul.f16x2", f16_pair, half_pairs, (32, 32, 32),
    each([&](int at) { return multiplied<Half>(a >> at, b >> at); }))
PTX(fma_f16x2, "fma.rn.f16x2", f16_pair, half_pairs, (32, 32, 32, 32),
    each([&](int at) { return fused<Half>(a >> at, b >> at, c >> at); }))
PTX(fma_bf16x2, "fma.rn.bf16x2", bf16_pair, bfloat_pairs, (32, 32, 32, 32),
    each([&](int at) { return fused<Bfloat>(a >> at, b >> at, c >> at); }))
PTX(neg_f16, "neg.f16", f16, halves, (16, 16), a ^ 0x8000U)
PTX(abs_f16, "abs.f16", f16, halves, (16, 16), a & 0x7fffU)
PTX(neg_bf16, "neg.bf16", bf16, bfloats, (16, 16), a ^ 0x8000U)
PTX(abs_bf16, "abs.bf16", bf16, bfloats, (16, 16), a & 0x7fffU)
PTX(neg_f16x2, "neg.f16x2", f16_pair, half_pairs, (32, 32), a ^ 0x80008000U)
PTX(abs_bf16x2, "abs.bf16x2", bf16_pair, bfloat_pairs, (32, 32), a & 0x7fff7fffU)
PTX(min_f16, "min.f16", f16, halves, (16, 16, 16), lesser<Half>(a, b))
PTX(max_f16, "max.f16", f16, halves, (16, 16, 16), larger<Half>(a, b))
PTX(min_nan_f16, "min.NaN.f16", f16, halves, (16, 16, 16), with_nan<Half>(a, b, lesser<Half>(a, b)))
PTX(min_bf16, "min.bf16", bf16, bfloats, (16, 16, 16), lesser<Bfloat>(a, b))
PTX(max_bf16, "max.bf16", bf16, bfloats, (16, 16, 16), larger<Bfloat>(a, b))
PTX(max_nan_bf16, "max.NaN.bf16", bf16, bfloats, (16, 16, 16),
    with_nan<Bfloat>(a, b, larger<Bfloat>(a, b)))
PTX(max_f16x2, "max.f16x2", f16_pair, half_pairs, (32, 32, 32),
    each([&](int at) { return larger<Half>(a >> at, b >> at); }))
PTX(min_bf16x2, "min.bf16x2", bf16_pair, bfloat_pairs, (32, 32, 32),
    each([&](int at) { return lesser<Bfloat>(a >> at, b >> at); }))
PTX(ex2_f16, "ex2.approx.f16", near_half, halves, (16, 16), Half::of(std::exp2(Half::value(a))))
PTX(tanh_f16, "tanh.approx.f16", near_half, halves, (16, 16), Half::of(std::tanh(Half::value(a))))
PTX(ex2_f16x2, "ex2.approx.f16x2", f16_pair, half_pairs, (32, 32),
    each([&](int at) { return Half::of(std::exp2(Half::value(a >> at))); }))

}  // namespace
}  // namespace ptbench::emulator::operations

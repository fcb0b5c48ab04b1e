// Arithmetic in f32 and f64. Directed roundings are the host's own.
#include <cfenv>
#include <cmath>

#include "tests/cuda_emulator/operations/operation.h"

#define OPERATION_TABLE single_table

namespace ptbench::emulator::operations {

std::vector<Operation>& single_table() {
  static std::vector<Operation> table;
  return table;
}

namespace {

/// `compute` under a rounding mode of the host, kept from being moved.
template <class Compute>
Bits rounded(int mode, Bits a, Bits b, Bits c, Compute compute) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile float x = f32(a);
  volatile float y = f32(b);
  volatile float z = f32(c);
  volatile float result = compute(x, y, z);
  std::fesetround(before);
  return bits_of(static_cast<float>(result));
}
constexpr auto kAdd = [](float x, float y, float) { return x + y; };
constexpr auto kSub = [](float x, float y, float) { return x - y; };
constexpr auto kMul = [](float x, float y, float) { return x * y; };
constexpr auto kFma = [](float x, float y, float z) { return std::fma(x, y, z); };

/// Denormal numbers as zero of their sign.
float flush(float value) {
  return std::fabs(value) < 1.17549435e-38F ? std::copysign(0.0F, value) : value;
}
/// Between 0 and 1; NaN is 0.
float clamp(float value) { return value >= 1 ? 1.0F : value > 0 ? value : 0.0F; }

/// The lesser of two, -0 before +0; a number before NaN.
template <class T>
T least(T x, T y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == 0 && y == 0) return std::signbit(x) || std::signbit(y) ? T{-0.0} : T{0};
  return x < y ? x : y;
}
template <class T>
T largest(T x, T y) {
  return -least(-x, -y);
}

PTX(add_f32, "add.f32", f32, singles, (32, 32, 32), bits_of(f32(a) + f32(b)))
PTX(add_rz_f32, "add.rz.f32", f32, singles, (32, 32, 32), rounded(FE_TOWARDZERO, a, b, c, kAdd))
PTX(add_rm_f32, "add.rm.f32", f32, singles, (32, 32, 32), rounded(FE_DOWNWARD, a, b, c, kAdd))
PTX(add_rp_f32, "add.rp.f32", f32, singles, (32, 32, 32), rounded(FE_UPWARD, a, b, c, kAdd))
PTX(add_ftz_f32, "add.ftz.f32", f32, singles, (32, 32, 32),
    bits_of(flush(flush(f32(a)) + flush(f32(b)))))
PTX(add_sat_f32, "add.sat.f32", f32, singles, (32, 32, 32), bits_of(clamp(f32(a) + f32(b))))
PTX(add_f64, "add.f64", f64, doubles, (64, 64, 64), bits_of(f64(a) + f64(b)))
PTX(sub_f32, "sub.f32", f32, singles, (32, 32, 32), bits_of(f32(a) - f32(b)))
PTX(sub_rm_f32, "sub.rm.f32", f32, singles, (32, 32, 32), rounded(FE_DOWNWARD, a, b, c, kSub))
PTX(sub_f64, "sub.f64", f64, doubles, (64, 64, 64), bits_of(f64(a) - f64(b)))
PTX(mul_f32, "mul.f32", f32, singles, (32, 32, 32), bits_of(f32(a) * f32(b)))
PTX(mul_rz_f32, "mul.rz.f32", f32, singles, (32, 32, 32), rounded(FE_TOWARDZERO, a, b, c, kMul))
PTX(mul_rp_f32, "mul.rp.f32", f32, singles, (32, 32, 32), rounded(FE_UPWARD, a, b, c, kMul))
PTX(mul_ftz_sat_f32, "mul.ftz.sat.f32", f32, singles, (32, 32, 32),
    bits_of(clamp(flush(flush(f32(a)) * flush(f32(b))))))
PTX(mul_f64, "mul.f64", f64, doubles, (64, 64, 64), bits_of(f64(a) * f64(b)))
PTX(fma_rn_f32, "fma.rn.f32", f32, singles, (32, 32, 32, 32),
    bits_of(std::fma(f32(a), f32(b), f32(c))))
PTX(fma_rz_f32, "fma.rz.f32", f32, singles, (32, 32, 32, 32), rounded(FE_TOWARDZERO, a, b, c, kFma))
PTX(fma_rm_f32, "fma.rm.f32", f32, singles, (32, 32, 32, 32), rounded(FE_DOWNWARD, a, b, c, kFma))
PTX(fma_rp_f32, "fma.rp.f32", f32, singles, (32, 32, 32, 32), rounded(FE_UPWARD, a, b, c, kFma))
PTX(fma_rn_sat_f32, "fma.rn.sat.f32", f32, singles, (32, 32, 32, 32),
    bits_of(clamp(std::fma(f32(a), f32(b), f32(c)))))
PTX(fma_rn_f64, "fma.rn.f64", f64, doubles, (64, 64, 64, 64),
    bits_of(std::fma(f64(a), f64(b), f64(c))))
PTX(mad_rn_f32, "mad.rn.f32", f32, singles, (32, 32, 32, 32),
    bits_of(std::fma(f32(a), f32(b), f32(c))))
PTX(div_rn_f32, "div.rn.f32", f32, singles, (32, 32, 32), bits_of(f32(a) / f32(b)))
PTX(div_full_f32, "div.full.f32", near_f32, singles, (32, 32, 32), bits_of(f32(a) / f32(b)))
PTX(div_approx_f32, "div.approx.ftz.f32", near_f32, singles, (32, 32, 32),
    bits_of(flush(flush(f32(a)) / flush(f32(b)))))
PTX(div_rn_f64, "div.rn.f64", f64, doubles, (64, 64, 64), bits_of(f64(a) / f64(b)))
PTX(rcp_rn_f32, "rcp.rn.f32", f32, singles, (32, 32), bits_of(1 / f32(a)))
PTX(rcp_approx_f32, "rcp.approx.ftz.f32", near_f32, singles, (32, 32),
    bits_of(flush(1 / flush(f32(a)))))
PTX(rcp_rn_f64, "rcp.rn.f64", f64, doubles, (64, 64), bits_of(1 / f64(a)))
PTX(sqrt_rn_f32, "sqrt.rn.f32", f32, singles, (32, 32), bits_of(std::sqrt(f32(a))))
PTX(sqrt_approx_f32, "sqrt.approx.f32", near_f32, singles, (32, 32), bits_of(std::sqrt(f32(a))))
PTX(sqrt_rn_f64, "sqrt.rn.f64", f64, doubles, (64, 64), bits_of(std::sqrt(f64(a))))
PTX(rsqrt_approx_f32, "rsqrt.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(1 / std::sqrt(static_cast<double>(f32(a))))))
PTX(rsqrt_approx_f64, "rsqrt.approx.f64", near_f64, doubles, (64, 64),
    bits_of(1 / std::sqrt(f64(a))))
PTX(ex2_f32, "ex2.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(std::exp2(static_cast<double>(f32(a))))))
PTX(ex2_ftz_f32, "ex2.approx.ftz.f32", near_f32, singles, (32, 32),
    bits_of(flush(static_cast<float>(std::exp2(static_cast<double>(flush(f32(a))))))))
PTX(lg2_f32, "lg2.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(std::log2(static_cast<double>(f32(a))))))
PTX(sin_f32, "sin.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(std::sin(static_cast<double>(f32(a))))))
PTX(cos_f32, "cos.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(std::cos(static_cast<double>(f32(a))))))
PTX(tanh_f32, "tanh.approx.f32", near_f32, singles, (32, 32),
    bits_of(static_cast<float>(std::tanh(static_cast<double>(f32(a))))))
PTX(neg_f32, "neg.f32", f32, singles, (32, 32), a ^ 0x80000000U)
PTX(abs_f32, "abs.f32", f32, singles, (32, 32), a & 0x7fffffffU)
PTX(neg_f64, "neg.f64", f64, doubles, (64, 64), a ^ 1ULL << 63U)
PTX(abs_f64, "abs.f64", f64, doubles, (64, 64), a & ~(1ULL << 63U))
PTX(min_f32, "min.f32", f32, singles, (32, 32, 32), bits_of(least(f32(a), f32(b))))
PTX(max_f32, "max.f32", f32, singles, (32, 32, 32), bits_of(largest(f32(a), f32(b))))
PTX(min_nan_f32, "min.NaN.f32", f32, singles, (32, 32, 32),
    bits_of(f32(a) != f32(a) || f32(b) != f32(b) ? NAN : least(f32(a), f32(b))))
PTX(max_nan_f32, "max.NaN.f32", f32, singles, (32, 32, 32),
    bits_of(f32(a) != f32(a) || f32(b) != f32(b) ? NAN : largest(f32(a), f32(b))))
PTX(max_f64, "max.f64", f64, doubles, (64, 64, 64), bits_of(largest(f64(a), f64(b))))
PTX(copysign_f32, "copysign.f32", f32, singles, (32, 32, 32), (a & 0x80000000U) | (b & 0x7fffffffU))
PTX(copysign_f64, "copysign.f64", f64, doubles, (64, 64, 64),
    (a & 1ULL << 63U) | (b & ~(1ULL << 63U)))

}  // namespace
}  // namespace ptbench::emulator::operations

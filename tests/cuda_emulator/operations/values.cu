#include "tests/cuda_emulator/operations/operation.h"

namespace ptbench::emulator::operations {

const std::vector<Bits>& integers() {
  static const std::vector<Bits> values{0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        0x7f,
                                        0x80,
                                        0x0501,
                                        0x7fff,
                                        0x8000,
                                        0xffff,
                                        0x12345678,
                                        0x7fffffff,
                                        0x80000000,
                                        0x80000001,
                                        0xffffffff,
                                        0x123456789abcdef0,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0xffffffffffffff85,
                                        0xffffffffffffffff};
  return values;
}

const std::vector<Bits>& singles() {
  static const std::vector<Bits> values = [] {
    std::vector<Bits> bits;
    for (const float value :
         {0.0F, 1.0F, 1.5F, 2.5F, 0.5F, 0.333333343F, 1e-30F, 1e10F, 16777217.0F, 65519.0F,
          65520.0F, 255.5F, 2147483648.0F, 4294967296.0F, 9223372036854775808.0F, 3.40282347e38F})
      for (const float sign : {1.0F, -1.0F}) bits.push_back(bits_of(sign * value));
    // The least denormal, the largest, the least normal, 1 + epsilon, 1 - epsilon, ties of tf32 and
    // bf16, infinities, NaN.
    for (const Bits more : {0x1U, 0x807fffffU, 0x00800000U, 0x3f800001U, 0x3f7fffffU, 0x3f801000U,
                            0x3f808000U, 0x3f818000U, 0x7f800000U, 0xff800000U, 0x7fc00000U})
      bits.push_back(more);
    return bits;
  }();
  return values;
}

const std::vector<Bits>& doubles() {
  static const std::vector<Bits> values = [] {
    std::vector<Bits> bits;
    for (const double value : {0.0, 1.0, 1.5, 2.5, 1.0 / 3, 1e-40, 1e-310, 1e300, 65520.0,
                               1.00000005960464477539, 16777217.0, 2147483647.5, 4294967295.5,
                               9223372036854775807.0, 3.4028235677973366e38, 3.4028234663852886e38})
      for (const double sign : {1.0, -1.0}) bits.push_back(bits_of(sign * value));
    for (const Bits more : {0x7ff0000000000000ULL, 0xfff0000000000000ULL, 0x7ff8000000000000ULL})
      bits.push_back(more);
    return bits;
  }();
  return values;
}

const std::vector<Bits>& halves() {
  static const std::vector<Bits> values{0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400,
                                        0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800, 0x3555, 0xc248,
                                        0x4e40, 0x6400, 0x6801, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                        0x7e00, 0x1000, 0x9123, 0x2e66};
  return values;
}

const std::vector<Bits>& bfloats() {
  static const std::vector<Bits> values{0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080,
                                        0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x3eab, 0xc049,
                                        0x4049, 0x4b80, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
                                        0x7fc0, 0x2000, 0x1f81, 0x5fff, 0xdf55};
  return values;
}

namespace {

/// Each value with another in the upper half.
std::vector<Bits> pairs_of(const std::vector<Bits>& values) {
  std::vector<Bits> pairs;
  for (std::size_t index = 0; index < values.size(); ++index)
    pairs.push_back(values[index] | values[(index * 7 + 3) % values.size()] << 16U);
  return pairs;
}

}  // namespace

const std::vector<Bits>& half_pairs() {
  static const std::vector<Bits> values = pairs_of(halves());
  return values;
}
const std::vector<Bits>& bfloat_pairs() {
  static const std::vector<Bits> values = pairs_of(bfloats());
  return values;
}

}  // namespace ptbench::emulator::operations

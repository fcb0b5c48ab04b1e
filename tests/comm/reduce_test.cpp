#include "src/comm/shm/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tensor.h"

namespace ptbench {
namespace {

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::x86_64, Isa::x86_64_v3, Isa::x86_64_v4})
    if (isa <= detect_isa()) all.push_back(isa);
  return all;
}

TEST_CASE("values travel as bf16 exactly as kernels round them", "[comm]") {
  // Every upper half, with lower halves around the tie.
  Size wrong = 0;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const auto value = std::bit_cast<float>(upper << 16U | lower);
      const float expected = to_float(to_bf16(value));
      if (std::bit_cast<std::uint32_t>(rounded_to_bf16(value)) !=
          std::bit_cast<std::uint32_t>(expected))
        ++wrong;
    }
  CHECK(wrong == 0);
}

TEST_CASE("a reduction has the same bits at every instruction level and however it is cut",
          "[comm]") {
  constexpr Size kCount = 2500;
  const std::size_t ranks = GENERATE(1U, 2U, 3U, 5U);
  const bool to_all = GENERATE(true, false);
  const auto wire = GENERATE(WireType::fp32, WireType::bf16);
  const auto result_type = GENERATE(ResultType::fp32, ResultType::wire);
  std::vector<float> first_result;
  for (const Isa isa : levels())
    for (const Size cut : {kCount, Size{1}, Size{1021}}) {
      std::vector<std::vector<float>> values(ranks, std::vector<float>(kCount));
      std::vector<const float*> sources;
      std::vector<float*> destinations;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < values[rank].size(); ++i)
          values[rank][i] = static_cast<float>((i * 7919 + rank * 104729) % 20011) * 0.0137F - 99;
        sources.push_back(values[rank].data());
        if (to_all || rank + 1 == ranks) destinations.push_back(values[rank].data());
      }
      for (Size begin = 0; begin < kCount; begin += cut)
        reduce_range(isa, {.sources = sources, .destinations = destinations},
                     {begin, std::min(begin + cut, kCount)}, {.scale = 0.3F, .wire = wire},
                     result_type);
      if (first_result.empty()) first_result = values.back();
      CHECK(values.back() == first_result);
      if (to_all) CHECK(values.front() == first_result);
    }
}

TEST_CASE("numbers that are none stay so through a reduction in bf16", "[comm]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::array<float, 4> one{std::nanf(""), kInfinity, kInfinity, std::numeric_limits<float>::max()};
  std::array<float, 4> other{1, -kInfinity, 1, 0};
  const std::array<const float*, 2> sources{one.data(), other.data()};
  const std::array<float*, 2> destinations{one.data(), other.data()};
  for (const Isa isa : levels()) {
    reduce_range(isa, {.sources = sources, .destinations = destinations}, {0, 4},
                 {.wire = WireType::bf16}, ResultType::wire);
    CHECK(std::isnan(one[0]));
    CHECK(std::isnan(one[1]));
    CHECK(one[2] == kInfinity);
    CHECK(one[3] == kInfinity);  // the largest float is nearer to infinity than to bf16's largest
    other = {1, -kInfinity, 1, 0};
    one = {std::nanf(""), kInfinity, kInfinity, std::numeric_limits<float>::max()};
  }
}

}  // namespace
}  // namespace ptbench

// Batches in bf16 and f16: what a GPU would have made of the floats, bit by bit.
#include "src/data/rounding.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "src/data/batch_loader.h"

using namespace ptbench;

namespace {

/// Every upper half of a float, with lower halves around those at which rounding turns.
std::vector<float> floats_of_every_kind() {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U,
                                      0x8001U, 0xefffU, 0xf000U, 0xffffU})
      values.push_back(std::bit_cast<float>(upper << 16U | lower));
  return values;
}

/// With the loops of all instruction sets that this CPU has.
template <class T>
std::uint32_t wrongly_rounded() {
  const std::vector<float> values = floats_of_every_kind();
  std::vector<T> rounded(values.size());
  std::uint32_t wrong = 0;
  for (const Isa isa : {Isa::x86_64, Isa::x86_64_v3, Isa::x86_64_v4}) {
    if (isa > detect_isa()) continue;
    round_values(isa, values, rounded);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (rounded[i] != rounded_as_on_gpus<T>(values[i])) ++wrong;
  }
  return wrong;
}

template <class T>
ElementType element_type() {
  return std::is_same_v<T, Bf16> ? ElementType::bf16 : ElementType::f16;
}

/// What `dataset` gathers as T, and the rounded floats that it gathers.
template <class T>
void check_gathered(const Dataset& dataset, Size values) {
  const std::vector<Size> indices{2, 0, 2};
  std::vector<float> floats(indices.size() * static_cast<std::size_t>(values));
  std::vector<T> narrow(floats.size());
  std::vector<std::int32_t> labels(indices.size());
  dataset.gather(indices, floats, labels);
  dataset.gather(indices, {std::as_writable_bytes(std::span(narrow)), element_type<T>()}, labels);
  CHECK(labels == std::vector<std::int32_t>{6, 4, 6});
  for (std::size_t i = 0; i < floats.size(); ++i)
    REQUIRE(narrow[i] == rounded_as_on_gpus<T>(floats[i]));
}

}  // namespace

TEST_CASE("values are rounded alike with every instruction set", "[data]") {
  CHECK(wrongly_rounded<Bf16>() == 0);
  CHECK(wrongly_rounded<F16>() == 0);
}

TEST_CASE("values are rounded to the nearest, and every NaN is the same", "[data]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::uint32_t nan : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xff812345U}) {
    CHECK(rounded_as_on_gpus<Bf16>(std::bit_cast<float>(nan)).bits == 0x7fffU);
    CHECK(rounded_as_on_gpus<F16>(std::bit_cast<float>(nan)).bits == 0x7fffU);
  }
  CHECK(rounded_as_on_gpus<Bf16>(-kInfinity).bits == 0xff80U);
  CHECK(rounded_as_on_gpus<Bf16>(std::numeric_limits<float>::max()).bits == 0x7f80U);
  CHECK(rounded_as_on_gpus<Bf16>(std::bit_cast<float>(0x00018000U)).bits == 0x0002U);
  CHECK(rounded_as_on_gpus<F16>(65519.9F).bits == 0x7bffU);
  CHECK(rounded_as_on_gpus<F16>(-65520).bits == 0xfc00U);
  CHECK(rounded_as_on_gpus<F16>(5.9604645e-8F).bits == 0x0001U);
  CHECK(rounded_as_on_gpus<F16>(-0.0F).bits == 0x8000U);
}

TEST_CASE("narrow samples are the rounded floats, of values and of pixels", "[data]") {
  std::vector<float> values;
  for (int i = 0; i < 3 * 77; ++i) values.push_back(static_cast<float>(i * i % 1013) / 17 - 20);
  values[5] = 1e30F;
  values[6] = 1e-7F;
  const Dataset of_values({77}, values, {4, 5, 6});
  check_gathered<Bf16>(of_values, 77);
  check_gathered<F16>(of_values, 77);
  std::vector<std::uint8_t> pixels(std::size_t{3} * 2 * 48);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i);
  const Dataset of_pixels({2, 6, 8}, std::move(pixels),
                          {.mean = {0.4, 0.1}, .standard_deviation = {0.2, 0.03}}, {4, 5, 6});
  check_gathered<Bf16>(of_pixels, 96);
  check_gathered<F16>(of_pixels, 96);
}

TEST_CASE("narrow batches are the same with threads that gather and threads ahead", "[data]") {
  constexpr std::size_t kElements = 400'000;  // of which six samples give work to four threads
  std::vector<float> values(10 * kElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
  const Dataset dataset({Size{kElements}}, std::move(values), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto type = GENERATE(ElementType::f32, ElementType::bf16);
  const int workers = GENERATE(0, 2);
  const Sampler sampler(10, {.micro_batch = 6}, true, 1);
  BatchLoader alone(dataset, sampler, {.type = type});
  BatchLoader threaded(dataset, sampler, {.type = type, .gather_threads = 4, .workers = workers});
  const auto batch = [&](BatchLoader& loader) {
    std::vector<std::byte> inputs(6 * kElements * bytes_of(type));
    std::vector<std::int32_t> labels(6);
    loader.next({.inputs = {inputs, type}, .labels = labels});
    return std::pair(std::move(inputs), std::move(labels));
  };
  for (int step = 0; step < 3; ++step) CHECK((batch(alone) == batch(threaded)));
}

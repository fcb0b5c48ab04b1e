// What every communicator does with bf16 values, on the worlds of communicator_factories.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/comm/shm/reduce.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/contract_values.h"
#include "tests/comm/meeting.h"

namespace ptbench {
namespace {

using testing::kTimeout;
using testing::Placed;
using testing::test_worlds;
using testing::TestWorld;
using testing::value_of;

std::uint16_t bf16_of(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded_to_bf16(value)) >> 16U);
}

float float_of(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// Which collective of bf16 values, and what it leaves.
struct Bf16Collective {
  std::string name;
  Communicator::Ticket (*start)(Communicator&, Values values, Reduction reduction);
  /// Whether `rank` has the sum of what is at `index`.
  bool (*has_sum)(Size rank, Size index, Size count, Size world_size);
  /// Whether others keep what they had.
  bool others_stay;
};

std::vector<Bf16Collective> bf16_reductions() {
  return {{"all_reduce",
           [](Communicator& c, Values values, Reduction reduction) {
             return c.start_all_reduce(values, reduction);
           },
           [](Size, Size, Size, Size) { return true; }, false},
          {"reduce_scatter",
           [](Communicator& c, Values values, Reduction reduction) {
             return c.start_reduce_scatter(values, reduction);
           },
           [](Size rank, Size index, Size count, Size world_size) {
             const Range part = rank_part(count, rank, world_size);
             return index >= part.begin && index < part.end;
           },
           false},
          {"reduce",
           [](Communicator& c, Values values, Reduction reduction) {
             return c.start_reduce(values, 0, reduction);
           },
           [](Size rank, Size, Size, Size) { return rank == 0; }, true},
          {"reduce at its root",
           [](Communicator& c, Values values, Reduction reduction) {
             reduction.at_root = true;
             return c.start_reduce(values, 0, reduction);
           },
           [](Size rank, Size, Size, Size) { return rank == 0; }, true}};
}

/// The sum in fp32, in rank order, rounded once.
std::uint16_t reduced_bf16(Size world_size, Size index, float scale) {
  float sum = float_of(bf16_of(value_of(0, index)));
  for (Size rank = 1; rank < world_size; ++rank) sum += float_of(bf16_of(value_of(rank, index)));
  return bf16_of(sum * scale);
}

/// In the last place of sums in bf16 of such values.
bool is_near(std::uint16_t found, std::uint16_t expected, Size ranks, float scale) {
  const float most = testing::kLargestValue * static_cast<float>(ranks) * scale;
  return std::abs(float_of(found) - float_of(expected)) <= most * 0x1p-7F;
}

Size wrong_bf16(Communicator& communicator, const Bf16Collective& collective, Size count,
                bool in_place, float scale, bool is_exact) {
  Placed words(communicator, in_place, (count + 1) / 2);
  const Values values{.bytes = std::as_writable_bytes(words.span())
                                   .first(static_cast<std::size_t>(count) * sizeof(std::uint16_t)),
                      .type = ElementType::bf16};
  const std::span<std::uint16_t> bits(reinterpret_cast<std::uint16_t*>(values.bytes.data()),
                                      static_cast<std::size_t>(count));
  for (Size i = 0; i < count; ++i)
    bits[static_cast<std::size_t>(i)] = bf16_of(value_of(communicator.rank(), i));
  communicator.wait(collective.start(communicator, values, {.scale = scale}), kTimeout);
  Size wrong = 0;
  for (Size i = 0; i < count; ++i) {
    const bool has_sum =
        collective.has_sum(communicator.rank(), i, count, communicator.world_size());
    if (!has_sum && !collective.others_stay) continue;
    const std::uint16_t expected = has_sum ? reduced_bf16(communicator.world_size(), i, scale)
                                           : bf16_of(value_of(communicator.rank(), i));
    const std::uint16_t found = bits[static_cast<std::size_t>(i)];
    if (is_exact || !has_sum ? found != expected
                             : !is_near(found, expected, communicator.world_size(), scale))
      ++wrong;
  }
  return wrong;
}

TEST_CASE("reductions of bf16 values sum in fp32 and round once", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const Bf16Collective& collective : bf16_reductions())
      for (const Size count : {0, 1, 31, 33, 10'021})
        for (const bool in_place : {true, false}) {
          INFO(fmt::format("{}, {} of {} values, in place {}", world.text(), collective.name, count,
                           in_place));
          std::atomic<Size> wrong = 0;
          world.run([&](Communicator& communicator) {
            for (const float scale : {1.0F, 0.3F})
              wrong += wrong_bf16(communicator, collective, count, in_place, scale,
                                  world.factory.scales_sums);
          });
          CHECK(wrong == 0);
        }
}

TEST_CASE("an all-gather of bf16 values puts every rank's part everywhere", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const Size count : {1, 33, 5001}) {
      INFO(fmt::format("{}, {} values", world.text(), count));
      std::atomic<Size> wrong = 0;
      world.run([&](Communicator& communicator) {
        std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
        for (Size i = 0; i < count; ++i)
          bits[static_cast<std::size_t>(i)] = bf16_of(value_of(communicator.rank(), i));
        communicator.wait(
            communicator.start_all_gather(
                {.bytes = std::as_writable_bytes(std::span(bits)), .type = ElementType::bf16}),
            kTimeout);
        for (Size rank = 0; rank < communicator.world_size(); ++rank) {
          const Range part = rank_part(count, rank, communicator.world_size());
          for (Size i = part.begin; i < part.end; ++i)
            if (bits[static_cast<std::size_t>(i)] != bf16_of(value_of(rank, i))) ++wrong;
        }
      });
      CHECK(wrong == 0);
    }
}

}  // namespace
}  // namespace ptbench

// What every communicator does with collectives, on the worlds of communicator_factories.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/shm/reduce.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/contract_values.h"
#include "tests/comm/meeting.h"

namespace ptbench {
namespace {

using testing::fill;
using testing::kTimeout;
using testing::Placed;
using testing::test_worlds;
using testing::TestWorld;
using testing::value_of;

using Floats = std::vector<float>;

/// What one rank does; returns the rank's result.
using Body = std::function<Floats(Communicator&)>;

/// By rank.
std::vector<Floats> results_of(const TestWorld& world, const Body& body) {
  std::vector<Floats> results(static_cast<std::size_t>(world.size));
  world.run([&](Communicator& communicator) {
    results[static_cast<std::size_t>(communicator.rank())] = body(communicator);
  });
  world.share(results);
  return results;
}

float as_sent(float value, WireType wire) {
  return wire == WireType::bf16 ? rounded_to_bf16(value) : value;
}

/// The reduction of one element, in rank order.
float reduced(Size world_size, Size index, Reduction reduction) {
  float sum = as_sent(value_of(0, index), reduction.wire);
  for (Size rank = 1; rank < world_size; ++rank)
    sum += as_sent(value_of(rank, index), reduction.wire);
  return sum * reduction.scale;
}

bool equal_bits(std::span<const float> left, std::span<const float> right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size_bytes()) == 0);
}

struct Case {
  TestWorld world;
  Size count;
  bool in_place;
};

/// Many times as many as are summed at once, for some worlds more than fit into a cache.
Size many_for(const TestWorld& world) { return world.size == 2 ? 1'000'003 : 100'003; }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const TestWorld& world : test_worlds())
    for (const Size count : {Size{0}, Size{1}, Size{15}, Size{17}, many_for(world)})
      for (const bool in_place : {true, false}) all.push_back({world, count, in_place});
  return all;
}

std::string text_of(const Case& test) {
  return fmt::format("{}, {} values, {}", test.world.text(), test.count,
                     test.in_place ? "in place" : "staged");
}

const std::array<Reduction, 3> kReductions{
    {{.scale = 1}, {.scale = 0.3F}, {.scale = 0.3F, .wire = WireType::bf16}}};

/// The same, summed by all ranks and by the root alone.
std::vector<Reduction> reductions_to_one() {
  std::vector<Reduction> all(kReductions.begin(), kReductions.end());
  for (Reduction reduction : kReductions) {
    reduction.at_root = true;
    all.push_back(reduction);
  }
  return all;
}

TEST_CASE("an all-reduce leaves the same bits on every rank: the sum in rank order", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    for (const Reduction reduction : kReductions) {
      const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
        Placed values(communicator, test.in_place, test.count);
        fill(values.span(), communicator.rank());
        communicator.wait(communicator.start_all_reduce(values_of(values.span()), reduction),
                          kTimeout);
        return values.copy();
      });
      Floats expected;
      for (Size i = 0; i < test.count; ++i)
        expected.push_back(as_sent(reduced(test.world.size, i, reduction), reduction.wire));
      for (const Floats& result : results) CHECK(test.world.agrees(result, expected, reduction));
      for (const Floats& result : results) CHECK(equal_bits(result, results.front()));
    }
  }
}

TEST_CASE("a reduce-scatter leaves each rank its part of the sum", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    const Size world_size = test.world.size;
    for (const Reduction reduction : kReductions) {
      const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
        Placed values(communicator, test.in_place, test.count);
        fill(values.span(), communicator.rank());
        communicator.wait(communicator.start_reduce_scatter(values_of(values.span()), reduction),
                          kTimeout);
        return values.copy();
      });
      for (Size rank = 0; rank < world_size; ++rank) {
        const Range part = rank_part(test.count, rank, world_size);
        Floats expected;
        for (Size i = part.begin; i < part.end; ++i)
          expected.push_back(reduced(world_size, i, reduction));
        const std::span<const float> result = results[static_cast<std::size_t>(rank)];
        CHECK(test.world.agrees(result.subspan(static_cast<std::size_t>(part.begin),
                                               static_cast<std::size_t>(part.size())),
                                expected, reduction));
      }
    }
  }
}

TEST_CASE("an all-gather puts every rank's part everywhere", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    const Size world_size = test.world.size;
    const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
      Placed values(communicator, test.in_place, test.count);
      fill(values.span(), communicator.rank());
      communicator.wait(communicator.start_all_gather(values_of(values.span())), kTimeout);
      return values.copy();
    });
    Floats expected(static_cast<std::size_t>(test.count));
    for (Size rank = 0; rank < world_size; ++rank) {
      const Range part = rank_part(test.count, rank, world_size);
      for (Size i = part.begin; i < part.end; ++i)
        expected[static_cast<std::size_t>(i)] = value_of(rank, i);
    }
    for (const Floats& result : results) CHECK(equal_bits(result, expected));
  }
}

TEST_CASE("a reduction to one rank leaves the others' values as they were", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    const Size world_size = test.world.size;
    const Size root = world_size - 1;
    for (const Reduction reduction : reductions_to_one()) {
      const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
        Placed values(communicator, test.in_place, test.count);
        fill(values.span(), communicator.rank());
        communicator.wait(communicator.start_reduce(values_of(values.span()), root, reduction),
                          kTimeout);
        return values.copy();
      });
      for (Size rank = 0; rank < world_size; ++rank) {
        Floats expected;
        for (Size i = 0; i < test.count; ++i)
          expected.push_back(rank == root ? reduced(world_size, i, reduction) : value_of(rank, i));
        const Reduction done = rank == root ? reduction : Reduction();
        CHECK(test.world.agrees(results[static_cast<std::size_t>(rank)], expected, done));
      }
    }
  }
}

TEST_CASE("a gather puts the parts one after the other on its root", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    const Size world_size = test.world.size;
    const Size root = world_size / 2;
    const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
      const bool is_root = communicator.rank() == root;
      Placed part(communicator, test.in_place, test.count);
      Placed whole(communicator, test.in_place, is_root ? test.count * world_size : 0);
      fill(part.span(), communicator.rank());
      communicator.wait(communicator.start_gather(std::as_bytes(part.span()),
                                                  std::as_writable_bytes(whole.span()), root),
                        kTimeout);
      return is_root ? whole.copy() : part.copy();
    });
    Floats expected;
    for (Size rank = 0; rank < world_size; ++rank)
      for (Size i = 0; i < test.count; ++i) expected.push_back(value_of(rank, i));
    CHECK(equal_bits(results[static_cast<std::size_t>(root)], expected));
  }
}

TEST_CASE("a broadcast of any number of bytes comes to all", "[comm]") {
  for (const Case& test : cases()) {
    INFO(text_of(test));
    const Size world_size = test.world.size;
    const Size root = world_size - 1;
    const std::vector<Floats> results = results_of(test.world, [&](Communicator& communicator) {
      Placed values(communicator, test.in_place, test.count);
      fill(values.span(), communicator.rank());
      auto bytes = std::as_writable_bytes(values.span());
      if (!bytes.empty()) bytes = bytes.first(bytes.size() - 1);
      communicator.wait(communicator.start_broadcast(bytes, root), kTimeout);
      return values.copy();
    });
    for (const Floats& result : results) {
      const auto sent = std::as_bytes(std::span(results[static_cast<std::size_t>(root)]));
      const auto came = std::as_bytes(std::span(result));
      const std::size_t bytes = sent.empty() ? 0 : sent.size() - 1;
      CHECK(std::ranges::equal(came.first(bytes), sent.first(bytes)));
      Floats filled(static_cast<std::size_t>(test.count));
      fill(filled, root);
      CHECK(equal_bits(results[static_cast<std::size_t>(root)], filled));
    }
  }
}

TEST_CASE("nobody passes a barrier before all have come", "[comm]") {
  for (const TestWorld& world : test_worlds()) {
    INFO(world.text());
    constexpr int kRounds = 200;
    std::array<std::atomic<int>, 4> of_threads{};
    const std::span<std::atomic<int>> came = world.factory.process
                                                 ? world.factory.process->counters
                                                 : std::span<std::atomic<int>>(of_threads);
    std::atomic<int> early = 0;
    (void)results_of(world, [&](Communicator& communicator) {
      for (int round = 1; round <= kRounds; ++round) {
        came[static_cast<std::size_t>(communicator.rank())] = round;
        communicator.wait(communicator.start_barrier(), kTimeout);
        for (Size rank = 0; rank < communicator.world_size(); ++rank)
          if (came[static_cast<std::size_t>(rank)] < round) ++early;
      }
      return Floats();
    });
    CHECK(early == 0);
  }
}

TEST_CASE("several operations can be on their way at once", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const bool in_place : {true, false}) {
      constexpr Size kBuckets = 40;
      constexpr Size kBucket = 1003;
      const int rounds = world.factory.rounds;
      const std::vector<Floats> results = results_of(world, [&](Communicator& communicator) {
        Placed values(communicator, in_place, kBuckets * kBucket);
        Floats all;
        for (int round = 0; round < rounds; ++round) {
          fill(values.span(), communicator.rank() + round);
          std::vector<Communicator::Ticket> tickets;
          for (Size bucket = 0; bucket < kBuckets; ++bucket)
            tickets.push_back(communicator.start_all_reduce(
                values_of(values.span().subspan(static_cast<std::size_t>(bucket * kBucket),
                                                static_cast<std::size_t>(kBucket))),
                {}));
          // The first ones one by one, the rest by the last.
          for (const std::size_t at : std::array<std::size_t, 4>{0, 1, 2, 39})
            communicator.wait(tickets[at], kTimeout);
          const Floats now = values.copy();
          all.insert(all.end(), now.begin(), now.end());
        }
        return all;
      });
      const Size ranks = world.size;
      Size wrong = 0;
      for (const Floats& result : results) {
        REQUIRE(result.size() == static_cast<std::size_t>(rounds * kBuckets * kBucket));
        for (int round = 0; round < rounds; ++round)
          for (Size i = 0; i < kBuckets * kBucket; ++i) {
            float sum = value_of(round, i);
            for (Size rank = 1; rank < ranks; ++rank) sum += value_of(rank + round, i);
            const auto at = static_cast<std::size_t>(round * kBuckets * kBucket + i);
            if (!world.agrees(std::span(result).subspan(at, 1), std::span(&sum, 1), {})) ++wrong;
          }
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("waiting twice for an operation is waiting once", "[comm]") {
  for (const TestWorld& world : test_worlds())
    CHECK_NOTHROW(results_of(world, [](Communicator& communicator) {
      const auto first = communicator.start_barrier();
      const auto second = communicator.start_barrier();
      communicator.wait(second, kTimeout);
      communicator.wait(first, kTimeout);
      return Floats();
    }));
}

TEST_CASE("a communicator refuses what no rank can mean", "[comm]") {
  for (const TestWorld& world : test_worlds()) {
    if (world.size > 1) continue;
    (void)results_of(world, [](Communicator& communicator) {
      CHECK_THROWS_AS(communicator.start_broadcast({}, 1), Defect);
      CHECK_THROWS_AS(communicator.start_reduce({}, -1, {}), Defect);
      CHECK_THROWS_AS(communicator.start_gather({}, {}, 1), Defect);
      std::array<std::byte, 4> part{};
      CHECK_THROWS_AS(communicator.start_gather(part, {}, 0), Defect);
      CHECK_THROWS_AS(communicator.wait(Communicator::Ticket{0}, kTimeout), Defect);
      CHECK_THROWS_AS(communicator.wait(Communicator::Ticket{1}, kTimeout), Defect);
      std::array<std::byte, 5> no_floats{};
      CHECK_THROWS_AS(communicator.start_all_reduce({.bytes = no_floats}, {}), Defect);
      return Floats();
    });
  }
}

}  // namespace
}  // namespace ptbench

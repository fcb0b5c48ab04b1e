// What every communicator does where it is split into groups.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/meeting.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;
using testing::kTimeout;
using testing::test_worlds;
using testing::TestWorld;
using Ticket = Communicator::Ticket;

float sum_over(Communicator& communicator, float value) {
  communicator.wait(communicator.start_all_reduce(values_of(std::span(&value, 1)), {}), kTimeout);
  return value;
}

/// What every rank has, by rank of the communicator.
std::vector<Size> all_of(Communicator& communicator, Size own) {
  std::vector<Size> all(static_cast<std::size_t>(communicator.world_size()));
  const auto bytes = std::as_writable_bytes(std::span(all));
  const auto whole = communicator.rank() == 0 ? bytes : bytes.first(0);
  communicator.wait(communicator.start_gather(std::as_bytes(std::span(&own, 1)), whole, 0),
                    kTimeout);
  communicator.wait(communicator.start_broadcast(bytes, 0), kTimeout);
  return all;
}

/// The ranks from `first` on, `step` apart.
std::vector<Size> every(Size step, Size first, Size ranks) {
  std::vector<Size> found;
  for (Size rank = first; rank < ranks; rank += step) found.push_back(rank);
  return found;
}

/// Runs `check` on every rank: how many of its claims are wrong.
template <class Check>
int wrong_in(const TestWorld& world, const Check& check) {
  std::atomic<int> wrong = 0;
  world.run([&](Communicator& communicator) { wrong += check(communicator); });
  return wrong;
}

/// That no claim is wrong, in any world.
template <class Check>
void check_in_all_worlds(const Check& check) {
  for (const TestWorld& world : test_worlds()) {
    INFO(world.text());
    CHECK(wrong_in(world, check) == 0);
  }
}

TEST_CASE("a group has the ranks of one colour, in the order of their keys", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const bool reversed : {false, true}) {
      INFO(fmt::format("{}, reversed {}", world.text(), reversed));
      CHECK(wrong_in(world, [&](Communicator& communicator) {
              const Size own = communicator.rank();
              const auto group = communicator.split(own % 2, reversed ? -own : 0);
              std::vector<Size> expected = every(2, own % 2, communicator.world_size());
              if (reversed) std::ranges::reverse(expected);
              int wrong = 0;
              if (group->name() != communicator.name()) ++wrong;
              if (group->world_size() != std::ssize(expected)) ++wrong;
              if (all_of(*group, own) != expected) ++wrong;
              if (expected[static_cast<std::size_t>(group->rank())] != own) ++wrong;
              return wrong;
            }) == 0);
    }
}

TEST_CASE("ranks that are alone in their groups, or all in one, are groups too", "[comm]") {
  check_in_all_worlds([&](Communicator& communicator) {
    const Size ranks = communicator.world_size();
    const auto alone = communicator.split(communicator.rank(), 0);
    const auto together = communicator.split(-3, 5);
    int wrong = 0;
    if (alone->world_size() != 1 || sum_over(*alone, 7) != 7) ++wrong;
    if (together->world_size() != ranks || together->rank() != communicator.rank()) ++wrong;
    const auto reversed = communicator.split(0, -communicator.rank());
    for (Communicator* one : {together.get(), &communicator, reversed.get(), &communicator})
      if (sum_over(*one, 1) != static_cast<float>(ranks)) ++wrong;
    return wrong;
  });
}

TEST_CASE("groups are split again, and outlive what they were split from", "[comm]") {
  check_in_all_worlds([&](Communicator& communicator) {
    const Size own = communicator.rank();
    std::unique_ptr<Communicator> inner;
    {
      const auto outer = communicator.split(own == 0 ? 0 : 1, own);
      inner = outer->split(outer->rank() % 2, 0);
    }
    const std::vector<Size> expected =
        own == 0 ? std::vector<Size>{0} : every(2, own % 2 == 1 ? 1 : 2, communicator.world_size());
    return all_of(*inner, own) == expected ? 0 : 1;
  });
}

TEST_CASE("groups reduce in place and staged, as the world does", "[comm]") {
  constexpr Size kCount = 20'011;
  for (const TestWorld& world : test_worlds())
    for (const bool in_place : {true, false}) {
      INFO(fmt::format("{}, in place {}", world.text(), in_place));
      CHECK(wrong_in(world, [&](Communicator& communicator) {
              const Size own = communicator.rank();
              const auto group = communicator.split(own % 2, 0);
              std::vector<float> outside(kCount);
              const Buffer buffer = group->memory().allocate(kCount * sizeof(float), "values");
              const std::span<float> values =
                  in_place ? buffer.as<float>().first(kCount) : std::span<float>(outside);
              float expected = 0;
              for (const Size rank : every(2, own % 2, communicator.world_size()))
                expected += static_cast<float>(rank + 1);
              int wrong = 0;
              for (int round = 0; round < 5; ++round) {
                std::ranges::fill(values, static_cast<float>(own + 1));
                group->wait(group->start_all_reduce(values_of(values), {}), kTimeout);
                if (std::ranges::count(values, expected) != kCount) ++wrong;
              }
              return wrong;
            }) == 0);
    }
}

TEST_CASE("ranks wait for operations of groups and of the world in any order", "[comm]") {
  constexpr int kRounds = 100;
  check_in_all_worlds([&](Communicator& communicator) {
    const Size own = communicator.rank();
    const Size ranks = communicator.world_size();
    const auto parity = communicator.split(own % 2, 0);
    const auto halves = communicator.split(own < ranks / 2 ? 0 : 1, 0);
    const std::array<Communicator*, 3> all{&communicator, parity.get(), halves.get()};
    int wrong = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::array<float, 3> values{1, 1, 1};
      std::array<Ticket, 3> tickets{};
      for (std::size_t i = 0; i < all.size(); ++i)
        tickets.at(i) = all.at(i)->start_all_reduce(values_of(std::span(&values.at(i), 1)), {});
      // Each rank in an order of its own: the others' work on the rest may not wait for it.
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t at =
            (i * (1 + static_cast<std::size_t>(own) % 2) + static_cast<std::size_t>(own)) %
            all.size();
        all.at(at)->wait(tickets.at(at), kTimeout);
      }
      for (std::size_t i = 0; i < all.size(); ++i)
        if (values.at(i) != static_cast<float>(all.at(i)->world_size())) ++wrong;
    }
    return wrong;
  });
}

TEST_CASE("messages of a group are not those of the world", "[comm]") {
  check_in_all_worlds([&](Communicator& communicator) {
    const Size ranks = communicator.world_size();
    const auto reversed = communicator.split(0, -communicator.rank());
    Size in_world = communicator.rank();
    Size in_group = 100 + reversed->rank();
    Size from_world = -1;
    Size from_group = -1;
    const auto bytes_of_one = [](Size& value) {
      return std::as_writable_bytes(std::span(&value, 1));
    };
    const auto next = [ranks](Size rank) { return (rank + 1) % ranks; };
    const auto before = [ranks](Size rank) { return (rank + ranks - 1) % ranks; };
    (void)communicator.start_send(bytes_of_one(in_world), next(communicator.rank()));
    (void)reversed->start_send(bytes_of_one(in_group), next(reversed->rank()));
    const Ticket group_ticket =
        reversed->start_receive(bytes_of_one(from_group), before(reversed->rank()));
    const Ticket world_ticket =
        communicator.start_receive(bytes_of_one(from_world), before(communicator.rank()));
    if (communicator.rank() % 2 == 0) communicator.wait(world_ticket, kTimeout);
    reversed->wait(group_ticket, kTimeout);
    communicator.wait(world_ticket, kTimeout);
    int wrong = 0;
    if (from_world != before(communicator.rank())) ++wrong;
    if (from_group != 100 + before(reversed->rank())) ++wrong;
    return wrong;
  });
}

TEST_CASE("many groups may follow each other", "[comm]") {
  check_in_all_worlds([&](Communicator& communicator) {
    const Size own = communicator.rank();
    const auto kept = communicator.split(own % 2, 0);
    int wrong = 0;
    for (Size round = 0; round < 60; ++round) {
      const auto group = communicator.split((own + round) % 3, -own);
      // Ranks end their groups after unlike numbers of operations of others.
      for (Size i = 0; i < (own + round) % 3; ++i)
        if (sum_over(*group, 2) != 2 * static_cast<float>(group->world_size())) ++wrong;
      if (sum_over(*kept, 1) != static_cast<float>(kept->world_size())) ++wrong;
    }
    return wrong;
  });
}

TEST_CASE("a rank that an error ends in a group is told of in all groups", "[comm][surrender]") {
  for (const TestWorld& world : test_worlds()) {
    if (world.size < 2) continue;
    INFO(world.text());
    const auto failures = world.failures([](Communicator& communicator) {
      const Size own = communicator.rank();
      const auto group = communicator.split(own < 2 ? 0 : 1, 0);
      (void)sum_over(*group, 1);
      if (own == 1) throw run_error("no data");
      if (own == 0) (void)sum_over(*group, 1);
      // Those of the other group wait for it in the world.
      (void)sum_over(communicator, 1);
    });
    for (std::size_t rank = 0; rank < failures.size(); ++rank) {
      if (!world.sees(static_cast<Size>(rank))) continue;
      REQUIRE(failures[rank]);
      if (rank == 1)
        CHECK_THROWS_WITH(std::rethrow_exception(failures[rank]), "no data");
      else
        CHECK_THROWS_WITH(std::rethrow_exception(failures[rank]), Catch::Contains("gave up"));
    }
  }
}

}  // namespace
}  // namespace ptbench

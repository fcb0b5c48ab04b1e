#include "src/judge/lockstep_pairs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ptbench {
namespace {

/// A process that took turns: of each its place and a step's seconds. Its slices have three steps,
/// the last of which is twice as long.
using Turns = std::vector<std::pair<Size, double>>;

void add_process(const std::string& lockstep, const Turns& turns, SamplesRecord& samples) {
  for (const auto& [turn, seconds] : turns) {
    SliceRecord slice;
    slice.repetition = std::ssize(samples.repetitions);
    slice.first = std::ssize(samples.step_seconds);
    slice.count = 3;
    slice.turn = turn;
    samples.slices.push_back(slice);
    for (const double step : {seconds, seconds, 2 * seconds}) samples.step_seconds.push_back(step);
  }
  samples.repetitions.push_back({.lockstep = lockstep});
}

SamplesRecord process(const Turns& turns) {
  SamplesRecord samples;
  add_process("a", turns, samples);
  return samples;
}

}  // namespace

TEST_CASE("a pair's median is that over its quads, its mean that of all steps", "[measure]") {
  // A drift of 10 % a turn cancels out; the second quad changes by 50 %, the others by 5 % and 2 %.
  const auto drift = [](Size turn) { return std::pow(1.1, static_cast<double>(turn)); };
  const SamplesRecord base =
      process({{0, drift(0)}, {3, drift(3)}, {5, 1}, {6, 1}, {8, 2}, {11, 2}});
  const SamplesRecord fresh = process(
      {{1, 1.05 * drift(1)}, {2, 1.05 * drift(2)}, {4, 1.5}, {7, 1.5}, {9, 2.04}, {10, 2.04}});
  const std::vector<LockstepPair> pairs = lockstep_pairs(base, fresh);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].lockstep == "a");
  CHECK(pairs[0].quads == 3);
  CHECK(pairs[0].median == Approx(std::log(1.05)));
  CHECK(pairs[0].mean ==
        Approx(std::log((1.05 * (drift(1) + drift(2)) + 3 + 4.08) / (drift(0) + drift(3) + 6))));
  CHECK(pairs[0].base_log_time == Approx((1.5 * std::log(1.1) + std::log(2)) / 3));
}

TEST_CASE("the mean of a slice tells what its median does not", "[measure]") {
  const SamplesRecord base = process({{0, 1}, {3, 1}});
  SamplesRecord fresh = process({{1, 1}, {2, 1}});
  fresh.step_seconds[2] = fresh.step_seconds[5] = 2.4;
  const std::vector<LockstepPair> pairs = lockstep_pairs(base, fresh);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].median == Approx(0).margin(1e-12));
  CHECK(pairs[0].mean == Approx(std::log(1.1)));
}

TEST_CASE("two sides of several that took turns are a pair", "[measure]") {
  // ABCCBA twice.
  const SamplesRecord first = process({{0, 1}, {5, 1}, {6, 1}, {11, 1}});
  const SamplesRecord second = process({{1, 1.1}, {4, 1.1}, {7, 1.1}, {10, 1.1}});
  const SamplesRecord third = process({{2, 1.2}, {3, 1.2}, {8, 1.2}, {9, 1.2}});
  CHECK(lockstep_pairs(first, third).at(0).quads == 2);
  CHECK(lockstep_pairs(first, third).at(0).median == Approx(std::log(1.2)));
  CHECK(lockstep_pairs(second, third).at(0).quads == 2);
  CHECK(lockstep_pairs(third, second).at(0).median == Approx(std::log(1.1 / 1.2)));
}

TEST_CASE("slices without a mirrored partner are in no quad", "[measure]") {
  // ABBA, then BAAB without its first turn, then ABBA, then AB.
  const SamplesRecord base = process({{0, 1}, {3, 1}, {5, 1}, {6, 1}, {8, 1}, {11, 1}, {12, 9}});
  SamplesRecord fresh = process({{1, 1.1}, {2, 1.1}, {7, 9}, {9, 1.2}, {10, 1.2}, {13, 9}});
  const std::vector<LockstepPair> pairs = lockstep_pairs(base, fresh);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].quads == 2);
  CHECK(pairs[0].median == Approx(std::log(1.1 * 1.2) / 2));
  SECTION("nor are those of which a sample is no time") {
    fresh.step_seconds[1] = std::numeric_limits<double>::quiet_NaN();
    CHECK(lockstep_pairs(base, fresh).at(0).quads == 1);
  }
  SECTION("nor those that lead to no repetition") {
    fresh.slices[0].repetition = 7;
    CHECK(lockstep_pairs(base, fresh).at(0).quads == 1);
  }
  SECTION("without samples there is no pair") {
    fresh.step_seconds.clear();
    CHECK(lockstep_pairs(base, fresh).empty());
  }
}

TEST_CASE("processes are paired by the set that they took turns in", "[measure]") {
  SamplesRecord base;
  SamplesRecord fresh;
  add_process("a", {{0, 1}, {3, 1}}, base);
  add_process("only in BASE", {{0, 1}, {3, 1}}, base);
  add_process("b", {{1, 1}, {2, 1}}, base);
  add_process("b", {{0, 1.1}, {3, 1.1}}, fresh);
  add_process("only in NEW", {{1, 1.3}, {2, 1.3}}, fresh);
  add_process("a", {{1, 1.2}, {2, 1.2}}, fresh);
  std::vector<LockstepPair> pairs = lockstep_pairs(base, fresh);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].lockstep == "a");
  CHECK(pairs[0].median == Approx(std::log(1.2)));
  CHECK(pairs[1].lockstep == "b");
  CHECK(pairs[1].median == Approx(std::log(1.1)));
  base.repetitions[0].lockstep.reset();
  pairs = lockstep_pairs(base, fresh);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].lockstep == "b");
  for (SliceRecord& slice : fresh.slices) slice.turn.reset();
  CHECK(lockstep_pairs(base, fresh).empty());
}

}  // namespace ptbench

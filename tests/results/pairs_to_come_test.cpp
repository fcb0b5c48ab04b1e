#include "app/results/pairs_to_come.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

using Catch::Contains;
using Catch::StartsWith;

/// Of six pairs, which scatter by 2 % and show no change.
LockstepJudgement judged(double half_width) {
  LockstepJudgement judgement;
  judgement.pairs = 6;
  judgement.level = 0.99975;
  judgement.median = {.estimate = 0,
                      .half_width = half_width,
                      .spread = {.standard_deviation = 0.02, .degrees_of_freedom = 7},
                      .usual = 0.01};
  judgement.mean = judgement.median;
  return judgement;
}

}  // namespace

TEST_CASE("a gate that has no verdict says when to expect one") {
  const std::string text = pairs_to_come_text(judged(0.06), {.detect = 0.05, .max_pairs = 14}, 42);
  CHECK_THAT(text, StartsWith("no verdict after 6 pairs: they scatter by 2.00 %, and NEW's median "
                              "step changes by between -5.82 % and 6.18 %") &&
                       Contains("; at this noise, expect one after ") &&
                       Contains(" pairs, in about 40 seconds"));
}

TEST_CASE("a gate that is not likely to get a verdict says so, and what helps") {
  const std::string text = pairs_to_come_text(judged(0.06), {.detect = 0.01, .max_pairs = 8}, 20);
  CHECK_THAT(text, Contains("; at this noise, all 8 pairs, in about 20 seconds, are not likely to "
                            "tell a change of 1.00 %: close other programs, or give a larger "
                            "--max-pairs or --detect"));
}

}  // namespace ptbench

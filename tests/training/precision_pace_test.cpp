#include <catch2/catch.hpp>

#include "app/training/verification.h"

namespace ptbench {
namespace {

StrategyRecord strategy(const std::string& name, const std::string& precision) {
  StrategyRecord record;
  record.name = name;
  record.precision = precision;
  return record;
}

const ComparedSteps kSlower{.tested = {0.030, 0.0084, 0.0083, 0.0090, 0.0084},
                            .oracle = {0.010, 0.0061, 0.0060, 0.0200, 0.0062}};

}  // namespace

TEST_CASE("amp that was slower than its oracle in fp32 says so", "[training]") {
  const WarningRecord warning = warning_of_pace(strategy("amp", "bf16"), kSlower).value();
  CHECK(warning.code == "slower-than-fp32");
  CHECK(warning.message ==
        "while bf16 was verified against fp32, a step took 8.40 ms in bf16 and 6.15 ms in fp32 "
        "(medians of 4 steps)");
  CHECK(warning.remedy == "Measure -s serial too, and keep the faster one.");
  CHECK(warning_of_pace(strategy("serial", "bf16"), kSlower).value().remedy ==
        "Measure --precision fp32 too, and keep the faster one.");
}

TEST_CASE("steps that do not tell fp32 from a narrow type tell nothing", "[training]") {
  CHECK_FALSE(warning_of_pace(strategy("serial", "fp32"), kSlower));
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"), {}));
  // The other way round, by too little, once only, in too few steps, and of the first step alone.
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"),
                              {.tested = kSlower.oracle, .oracle = kSlower.tested}));
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"),
                              {.tested = {9, 1.05, 1.05, 1.05, 1.05}, .oracle = {9, 1, 1, 1, 1}}));
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"), {.tested = {9, 1, 2, 2, 2},  //
                                                        .oracle = {9, 1, 1, 1, 1}}));
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"), {.tested = {9, 2, 2, 2},  //
                                                        .oracle = {9, 1, 1, 1}}));
  CHECK_FALSE(warning_of_pace(strategy("amp", "bf16"), {.tested = {9, 1, 1, 1, 1},  //
                                                        .oracle = {1, 1, 1, 1, 1}}));
}

}  // namespace ptbench

#include "src/measure/spread.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "src/base/error.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {

using testing::run_of;
using testing::run_of_seconds;

TEST_CASE("t quantiles are those of the tables", "[measure]") {
  CHECK(t_quantile(0.975, 1) == Approx(12.7062).epsilon(1e-5));
  CHECK(t_quantile(0.975, 2) == Approx(4.30265).epsilon(1e-5));
  CHECK(t_quantile(0.975, 4) == Approx(2.77645).epsilon(1e-5));
  CHECK(t_quantile(0.975, 10) == Approx(2.22814).epsilon(1e-5));
  CHECK(t_quantile(0.995, 4) == Approx(4.60409).epsilon(1e-5));
  CHECK(t_quantile(0.995, 14) == Approx(2.97684).epsilon(1e-5));
  CHECK(t_quantile(0.995, 1e7) == Approx(2.57583).epsilon(1e-5));
  CHECK(t_quantile(0.5, 3) == Approx(0).margin(1e-12));
  CHECK(t_quantile(0.025, 4) == Approx(-t_quantile(0.975, 4)));
}

TEST_CASE("t quantiles of a fraction of a degree lie between", "[measure]") {
  CHECK(t_quantile(0.975, 2.5) < t_quantile(0.975, 2));
  CHECK(t_quantile(0.975, 2.5) > t_quantile(0.975, 3));
}

TEST_CASE("t quantiles outside their domain are defects", "[measure]") {
  CHECK_THROWS_AS(t_quantile(1, 4), Defect);
  CHECK_THROWS_AS(t_quantile(0, 4), Defect);
  CHECK_THROWS_AS(t_quantile(0.5, 0), Defect);
}

TEST_CASE("half the width of an interval is t s / sqrt n", "[measure]") {
  const Spread spread{.standard_deviation = 0.02, .degrees_of_freedom = 4};
  CHECK(half_width(spread, 5, 0.95) == Approx(2.77645 * 0.02 / std::sqrt(5.0)).epsilon(1e-5));
  CHECK(half_width(spread, 1, 0.99) == Approx(4.60409 * 0.02).epsilon(1e-5));
}

TEST_CASE("the spread of values is drawn towards what is usual", "[measure]") {
  // s² = 2e-4 / 2 = 1e-4 with 2 degrees of freedom.
  const std::vector<std::vector<double>> groups{{0.01, 0.02, 0.03}};
  const Spread spread = spread_of(groups, 0.005);
  CHECK(spread.standard_deviation == Approx(std::sqrt((10 * 2.5e-5 + 2 * 1e-4) / 12)));
  CHECK(spread.degrees_of_freedom == 12);
  CHECK_FALSE(spread.unusual);
}

TEST_CASE("groups are pooled, each about its own mean", "[measure]") {
  // Squares 2e-4 and 0.5e-4 with 2 and 1 degrees of freedom; a single value tells nothing.
  const std::vector<std::vector<double>> groups{{0.01, 0.02, 0.03}, {5.0, 5.01}, {7.0}, {}};
  const Spread spread = spread_of(groups, 0.01);
  CHECK(spread.standard_deviation == Approx(std::sqrt((10 * 1e-4 + 2.5e-4) / 13)));
  CHECK(spread.degrees_of_freedom == 13);
}

TEST_CASE("an unusual spread stands for itself", "[measure]") {
  const std::vector<std::vector<double>> groups{{0.00, 0.04, 0.08}};
  const Spread far_beyond = spread_of(groups, 0.01);
  CHECK(far_beyond.unusual);
  CHECK(far_beyond.standard_deviation == Approx(0.04));
  CHECK(far_beyond.degrees_of_freedom == 2);
  CHECK_FALSE(spread_of(groups, 0.014).unusual);
}

TEST_CASE("without values, what is usual is all that is known", "[measure]") {
  const Spread spread = spread_of({}, 0.007);
  CHECK(spread.standard_deviation == Approx(0.007));
  CHECK(spread.degrees_of_freedom == 10);
  CHECK_THROWS_AS(spread_of({}, 0), Defect);
}

TEST_CASE("clean repetitions are sorted by placement", "[measure]") {
  SamplesRecord samples = run_of({{.seconds = 0.006},
                                  {.seconds = 0.008, .placement = "far"},
                                  {.seconds = 0.5, .clean = false},
                                  {.seconds = 0.007},
                                  {.seconds = 0.009, .placement = std::nullopt}})
                              .samples;
  samples.repetitions.push_back({.placement = "near", .clean_slices = 1});
  samples.repetitions.push_back({.median_seconds = 0.0, .placement = "near", .clean_slices = 1});
  samples.repetitions.push_back({.median_seconds = 0.1, .placement = "near"});
  const LogTimes times = clean_log_times(samples);
  CHECK(times == LogTimes{{"near", {std::log(0.006), std::log(0.007)}},
                          {"far", {std::log(0.008)}},
                          {"one_core", {std::log(0.009)}}});
  CHECK(clean_log_times({}).empty());
}

TEST_CASE("a run of equal repetitions is as precise as the machine usually is", "[measure]") {
  // s² = 10 · 1e-4 / 12, t(0.975, 12) = 2.17881.
  const SamplesRecord samples = run_of_seconds({0.006, 0.006, 0.006}).samples;
  const double half = 2.17881 * std::sqrt(10e-4 / 12) / std::sqrt(3.0);
  CHECK(is_precise_enough(samples, half * 1.001, PriorNoise()));
  CHECK_FALSE(is_precise_enough(samples, half * 0.999, PriorNoise()));
  PriorNoise quiet;
  quiet.learn("near", {.standard_deviation = 0.002, .degrees_of_freedom = 30});
  CHECK(is_precise_enough(samples, half / 4, quiet));
}

TEST_CASE("a run of fewer than three clean repetitions is never precise enough", "[measure]") {
  CHECK_FALSE(is_precise_enough({}, 1, PriorNoise()));
  CHECK_FALSE(is_precise_enough(run_of_seconds({0.006, 0.006}).samples, 1, PriorNoise()));
  const RunRecord mixed = run_of({{.seconds = 0.006},
                                  {.seconds = 0.006},
                                  {.seconds = 0.008, .placement = "far"},
                                  {.seconds = 0.008, .placement = "far"},
                                  {.seconds = 0.006, .clean = false}});
  CHECK_FALSE(is_precise_enough(mixed.samples, 1, PriorNoise()));
}

TEST_CASE("only the placement that speaks for a run makes it precise", "[measure]") {
  std::vector<testing::Process> processes{{.seconds = 0.006},
                                          {.seconds = 0.007},
                                          {.seconds = 0.009},
                                          {.seconds = 0.008, .placement = "far"},
                                          {.seconds = 0.008, .placement = "far"},
                                          {.seconds = 0.008, .placement = "far"}};
  CHECK_FALSE(is_precise_enough(run_of(processes).samples, 0.02, PriorNoise()));
  processes.push_back({.seconds = 0.008, .placement = "far"});
  CHECK(is_precise_enough(run_of(processes).samples, 0.02, PriorNoise()));
}

TEST_CASE("the placement with most clean repetitions speaks, near of two", "[measure]") {
  CHECK(counted_class({}) == nullptr);
  const LogTimes far_most{{"far", {1, 2}}, {"near", {3}}};
  CHECK(counted_class(far_most)->first == "far");
  const LogTimes as_many{{"far", {1, 2}}, {"near", {3, 4}}, {"one_core", {5, 6}}};
  CHECK(counted_class(as_many)->first == "near");
}

}  // namespace ptbench

#include "src/measure/statistics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// 1, 2, …, n in an order that is not sorted.
std::vector<double> shuffled_sequence(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(7));
  return values;
}

}  // namespace

TEST_CASE("moments of 1…n have closed forms", "[measure]") {
  for (const int n : {2, 3, 10, 1000}) {
    const std::vector<double> values = shuffled_sequence(n);
    CHECK(mean(values) == Approx((n + 1) / 2.0).epsilon(1e-15));
    CHECK(standard_deviation(values).value() ==
          Approx(std::sqrt(n * (n + 1.0) / 12)).epsilon(1e-14));
    CHECK(median(values) == Approx((n + 1) / 2.0).epsilon(1e-15));
  }
}

TEST_CASE("quantiles of 1…n are linear in p, definition 7", "[measure]") {
  std::vector<double> values = shuffled_sequence(11);
  std::ranges::sort(values);
  for (const double p : {0.0, 0.05, 0.1, 0.333, 0.5, 0.9, 0.95, 0.99, 1.0})
    CHECK(quantile(values, p) == Approx(1 + 10 * p).epsilon(1e-15));
}

TEST_CASE("quantiles agree with R's quantile(c(1, 2, 4, 8), type = 7)", "[measure]") {
  const std::vector<double> values{1, 2, 4, 8};
  CHECK(quantile(values, 0.10) == Approx(1.3));
  CHECK(quantile(values, 0.50) == Approx(3));
  CHECK(quantile(values, 0.90) == Approx(6.8));
  CHECK(quantile(values, 0.99) == Approx(7.88));
}

TEST_CASE("one value is its own summary, and has no standard deviation", "[measure]") {
  const Summary summary = summarize(std::vector{0.006});
  CHECK(summary.median == 0.006);
  CHECK(summary.mean == 0.006);
  CHECK_FALSE(summary.standard_deviation.has_value());
  CHECK(summary.min == 0.006);
  CHECK(summary.max == 0.006);
  CHECK(summary.p10 == 0.006);
  CHECK(summary.p99 == 0.006);
}

TEST_CASE("equal values spread by nothing at all", "[measure]") {
  const Summary summary = summarize(std::vector(1000, 0.1));
  CHECK(summary.standard_deviation.value() == Approx(0).margin(1e-16));
  CHECK(summary.median == 0.1);
  CHECK(summary.p95 == 0.1);
}

TEST_CASE("a large offset does not eat the spread", "[measure]") {
  std::vector<double> values{4, 7, 13, 16};
  for (double& value : values) value += 1e9;
  CHECK(standard_deviation(values).value() == Approx(std::sqrt(30.0)).epsilon(1e-12));
}

TEST_CASE("a summary is ordered", "[measure]") {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> distribution(0, 1);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> values(n);
    for (double& value : values) value = distribution(random);
    const Summary s = summarize(values);
    const std::vector<double> ordered{s.min, s.p10, s.median, s.p90, s.p95, s.p99, s.max};
    CHECK(std::ranges::is_sorted(ordered));
    CHECK(s.mean >= s.min);
    CHECK(s.mean <= s.max);
  }
}

TEST_CASE("a weighted quantile of equal weights is a quantile", "[measure]") {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> distribution(0, 1);
  for (std::size_t n = 1; n < 40; ++n) {
    std::vector<double> values(n);
    for (double& value : values) value = distribution(random);
    std::ranges::sort(values);
    std::vector<Weighted> weighted;
    for (const double value : values) weighted.push_back({.value = value, .weight = 0.25});
    for (const double p : {0.0, 0.1, 0.37, 0.5, 0.9, 1.0})
      CHECK(weighted_quantile(weighted, p) == Approx(quantile(values, p)));
  }
}

TEST_CASE("what weighs more has more of the quantiles", "[measure]") {
  // 1 counts as much as 2, 3, 4 and 5 together.
  const std::vector<Weighted> values{{1, 4}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};
  CHECK(weighted_quantile(values, 0) == 1);
  CHECK(weighted_quantile(values, 0.2) == Approx(1 + 1.1 / 2.5));
  CHECK(weighted_quantile(values, 0.5) == Approx(2.25));
  CHECK(weighted_quantile(values, 1) == 5);
}

TEST_CASE("nothing has no statistics", "[measure]") {
  const std::vector<double> nothing;
  CHECK_THROWS_AS(mean(nothing), Defect);
  CHECK_THROWS_AS(standard_deviation(nothing), Defect);
  CHECK_THROWS_AS(median(nothing), Defect);
  CHECK_THROWS_AS(quantile(std::vector{1.0}, 1.5), Defect);
  CHECK_THROWS_AS(weighted_quantile({}, 0.5), Defect);
  CHECK_THROWS_AS(quantile(std::vector{1.0}, std::nan("")), Defect);
}

}  // namespace ptbench

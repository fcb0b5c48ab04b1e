#include "src/measure/interval_text.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace ptbench {
namespace {

/// What a log-normal spread of `half` makes of a ratio.
Interval about(double value, double half) {
  return {.low = value * std::exp(-half), .high = value * std::exp(half)};
}

}  // namespace

TEST_CASE("halves that are a fifth apart are no half width", "[measure]") {
  CHECK(form_of(1, {0.9, 1.1}) == IntervalForm::half_width);
  CHECK(form_of(1, {0.9, 1.119}) == IntervalForm::half_width);
  CHECK(form_of(1, {0.9, 1.1201}) == IntervalForm::both_ends);
  CHECK(form_of(1, {0.8799, 1.1}) == IntervalForm::both_ends);
  CHECK(form_of(2, about(2, 0.18)) == IntervalForm::half_width);
  CHECK(form_of(2, about(2, 0.19)) == IntervalForm::both_ends);
  CHECK(form_of(1, {1, 1}) == IntervalForm::half_width);
  CHECK(form_of(1, {1.05, 1.2}) == IntervalForm::both_ends);  // of somebody else's file
}

TEST_CASE("what is wider than its value, or below 0, is not known well", "[measure]") {
  CHECK(form_of(1, {0.5, 1.5}) == IntervalForm::half_width);
  CHECK(form_of(1, {0.49, 1.51}) == IntervalForm::ends_alone);
  CHECK(form_of(0.1, {-0.01, 0.08}) == IntervalForm::ends_alone);
  CHECK(form_of(0, {0, 0.1}) == IntervalForm::ends_alone);
}

TEST_CASE("ratios are told as their intervals are", "[measure]") {
  CHECK(ratio_with_interval(1.87, {1.84, 1.90}) == "1.87 ± 0.03");
  CHECK(ratio_with_interval(1.87, {1.866, 1.874}) == "1.870 ± 0.004");
  CHECK(ratio_with_interval(1.74, about(1.74, 0.28)) == "1.74 (1.32 to 2.30)");
  CHECK(ratio_with_interval(1.74, {0.85, 3.56}) == "0.85 to 3.56");
}

TEST_CASE("a ratio tells two things apart where its interval leaves out 1", "[measure]") {
  CHECK(is_told_from_one({1.01, 1.2}));
  CHECK(is_told_from_one({0.8, 0.99}));
  CHECK_FALSE(is_told_from_one({0.85, 3.56}));
  CHECK_FALSE(is_told_from_one({1, 1.2}));
}

TEST_CASE("shares are told as their intervals are", "[measure]") {
  CHECK(share_with_interval(0.9, std::nullopt) == "90.0 %");
  CHECK(share_with_interval(0.9, Interval{0.888, 0.914}) == "90.0 ± 1.3 %");
  CHECK(share_with_interval(0.9, about(0.9, 0.25)) == "90.0 % (70.1 to 115.6 %)");
  CHECK(share_with_interval(1.298, about(1.298, 1.03)) == "46.3 to 363.6 %");
  CHECK(share_with_interval(0.02, Interval{-0.01, 0.03}) == "-1.0 to 3.0 %");
}

TEST_CASE("rates are told as their intervals are", "[measure]") {
  CHECK(rate_with_interval(21'300, std::nullopt) == "21.3 k");
  CHECK(rate_with_interval(21'300, Interval{21'210, 21'390}) == "21.3 k ± 0.42 %");
  CHECK(rate_with_interval(21'300, Interval{21'210, 21'390}, "samples/s") ==
        "21.3 k samples/s ± 0.42 %");
  CHECK(rate_with_interval(21'300, about(21'300, 0.3)) == "21.3 k (15.8 k to 28.8 k)");
  CHECK(rate_with_interval(21'300, about(21'300, 0.3), "samples/s") ==
        "21.3 k samples/s (15.8 k to 28.8 k)");
  CHECK(rate_with_interval(18'300, Interval{9'000, 33'000}, "samples/s") ==
        "9.00 k to 33.0 k samples/s");
  CHECK(rate_with_interval(0, Interval{0, 1}) == "0.00");
}

TEST_CASE("how far an interval reaches is told as it is", "[measure]") {
  CHECK(deviation_text({-0.0093, 0.0093}) == "± 0.93 %");
  CHECK(deviation_text({-0.14, 0.14}) == "± 14 %");
  CHECK(deviation_text({-0.459, 0.85}) == "-46 % to +85 %");
  CHECK(deviation_text({-0.6, 0.6}) == "-60 % to +60 %");
}

}  // namespace ptbench

#include "src/judge/entry_change.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "src/measure/spread.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::NormalNumbers;

LogTimes near(std::vector<double> times) { return {{"near", std::move(times)}}; }

LogChange change_of(const std::vector<LogTimes>& entries, const LogTimes& fresh) {
  return entry_change(entries, fresh, PriorNoise()).value();
}

/// Standard deviations of a history.
struct EntryNoise {
  double between = 0.012;
  double within = 0.01;
};

LogTimes simulate(const EntryNoise& noise, NormalNumbers& normal) {
  const double day = noise.between * normal();
  std::vector<double> times;
  for (int repetition = 0; repetition < 5; ++repetition)
    times.push_back(day + noise.within * normal());
  return near(times);
}

}  // namespace

TEST_CASE("the change against entries and its interval, by hand", "[measure]") {
  const LogChange change =
      change_of({near({0.01, 0.01, 0.01}), near({0.03, 0.03, 0.03})}, near({0.06, 0.06, 0.06}));
  CHECK(change.estimate == Approx(0.04));
  // Of a value: 10 degrees of the prior and one of the two entries.
  const double of_repetitions = 10e-4 / 14 / 3;
  const double usual = 0.012 * 0.012 + of_repetitions;
  const double variance = (10 * usual + 2e-4) / 11;
  const double beyond = 10e-4 / 12 / 3 - of_repetitions;  // NEW's own are known less well
  CHECK(change.standard_error == Approx(std::sqrt(variance / 2 + variance + beyond)));
  CHECK(change.degrees_of_freedom == Approx(11));
  CHECK(change.half_width == Approx(3.10581 * change.standard_error).epsilon(1e-5));
  CHECK(std::exp(change.base_log_time) == Approx(std::exp(0.02)));
}

TEST_CASE("more repetitions of a day are no more evidence of other days", "[measure]") {
  const auto width = [](std::size_t repetitions) {
    const LogTimes day = near(std::vector<double>(repetitions, 0.0));
    return change_of({day, day, day}, day).half_width;
  };
  CHECK(width(100) > 0.03);
  CHECK(width(100) > 0.8 * width(5));
}

TEST_CASE("repetitions of an entry count from what their placement costs", "[measure]") {
  const LogTimes mixed{{"near", {0.0, 0.0}}, {"far", {0.3, 0.3}}};
  const LogTimes mostly_far{{"near", {0.01}}, {"far", {0.31, 0.31, 0.31}}};
  const LogChange change = change_of({mixed, mixed}, mostly_far);
  CHECK(change.estimate == Approx(0.01));
  CHECK(change.base_log_time == Approx(0.3));
  CHECK_FALSE(change.spread.unusual);
  CHECK_FALSE(entry_change(std::vector{near({0, 0, 0})}, LogTimes{{"far", {0, 0, 0}}}, {}));
  CHECK_FALSE(entry_change(std::vector{near({0, 0, 0})}, near({0, 0}), {}));
}

TEST_CASE("what scatters beyond the usual is believed only where it is wholly apart", "[measure]") {
  const std::vector<LogTimes> entries(6, near({0, 0, 0, 0, 0}));
  const LogChange erratic = change_of(entries, near({0.24, 0.37, 0.26, 0.32, 0.25}));
  CHECK(erratic.spread.unusual);
  CHECK(verdict_of(erratic, 0.05) == Verdict::slower);
  CHECK(verdict_of(change_of(entries, near({0.01, 0.37, 0.26, 0.32, 0.25})), 0.05) ==
        Verdict::ambiguous);
}

TEST_CASE("intervals against entries cover the truth", "[measure]") {
  NormalNumbers normal(1);
  constexpr int kRuns = 4000;
  for (const std::size_t count : {1U, 3U, 10U})
    for (const EntryNoise noise : {EntryNoise{}, EntryNoise{.between = 0.004, .within = 0.004}}) {
      int missed = 0;
      for (int run = 0; run < kRuns; ++run) {
        std::vector<LogTimes> entries;
        for (std::size_t entry = 0; entry < count; ++entry)
          entries.push_back(simulate(noise, normal));
        const LogChange change = change_of(entries, simulate(noise, normal));
        missed += std::abs(change.estimate) > change.half_width ? 1 : 0;
      }
      CAPTURE(count, noise.between, missed);
      CHECK(missed <= 0.012 * kRuns);
    }
}

}  // namespace ptbench

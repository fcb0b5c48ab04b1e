#include "src/measure/repetition.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

SliceRecord slice(double median, bool clean, const char* placement) {
  SliceRecord record;
  record.median_seconds = median;
  record.clean = clean;
  record.placement = placement;
  return record;
}

}  // namespace

TEST_CASE("a repetition is the median of its clean slices of one placement", "[measure]") {
  const RepetitionRecord repetition =
      repetition_of(std::vector{slice(9, false, "near"), slice(2, true, "near"),
                                slice(8, true, "far"), slice(4, true, "near")});
  CHECK(repetition.median_seconds == Approx(3));
  CHECK(repetition.placement == "near");
  CHECK(repetition.clean_slices == 2);
}

TEST_CASE("where placements are equally many, the later one speaks", "[measure]") {
  const RepetitionRecord repetition =
      repetition_of(std::vector{slice(6, true, "near"), slice(8, true, "far")});
  CHECK(repetition.placement == "far");
  CHECK(repetition.median_seconds == Approx(8));
  CHECK(repetition.clean_slices == 1);
}

TEST_CASE("a repetition without a clean slice says so and still has a median", "[measure]") {
  const RepetitionRecord repetition =
      repetition_of(std::vector{slice(6, false, "mixed"), slice(8, false, "far")});
  CHECK_FALSE(repetition.placement.has_value());
  CHECK(repetition.median_seconds == Approx(7));
  CHECK(repetition.clean_slices == 0);
  CHECK_FALSE(repetition_of({}).median_seconds.has_value());
}

TEST_CASE("a process adds its samples, slices and repetition", "[measure]") {
  Samples samples;
  samples.warmup_discarded = 30;
  samples.steps_per_sample = 2;
  samples.step_seconds = {1, 2, 3, 10, 20};
  samples.stop_reason = StopReason::noise;
  samples.slices.resize(2);
  samples.slices[0].count = 3;
  samples.slices[0].clean = true;
  samples.slices[1].first = 3;
  samples.slices[1].count = 2;
  samples.started_unix_seconds = 1e9;
  samples.slices[1].turn = 2;
  SamplesRecord record;
  add_repetition(samples, record);
  CHECK(record.warmup_discarded == 30);
  CHECK(record.steps_per_sample == 2);
  CHECK(record.stop_reason == StopReason::noise);
  CHECK(record.step_seconds == samples.step_seconds);
  REQUIRE(record.slices.size() == 2);
  CHECK(record.slices[0].median_seconds == Approx(2));
  CHECK(record.slices[1].median_seconds == Approx(15));
  CHECK(record.slices[1].turn == 2);
  REQUIRE(record.repetitions.size() == 1);
  CHECK(record.repetitions[0].median_seconds == Approx(2));
  CHECK(record.repetitions[0].clean_slices == 1);
  CHECK(record.repetitions[0].started_unix_seconds == 1e9);
}

TEST_CASE("a repetition has the lower quartile of its steps, where there are enough", "[measure]") {
  Samples samples;
  // 10 to 30 near, 30 times 1 unclean, 5 times 2 far, 31 to 50 near.
  for (int second = 10; second <= 30; ++second) samples.step_seconds.push_back(second);
  samples.step_seconds.insert(samples.step_seconds.end(), 30, 1);
  samples.step_seconds.insert(samples.step_seconds.end(), 5, 2);
  for (int second = 31; second <= 50; ++second) samples.step_seconds.push_back(second);
  samples.slices = {slice(0, true, "near"), slice(0, false, "near"), slice(0, true, "far"),
                    slice(0, true, "near")};
  Size first = 0;
  for (const auto& [at, count] :
       {std::pair(0, 21), std::pair(1, 30), std::pair(2, 5), std::pair(3, 20)}) {
    samples.slices[static_cast<std::size_t>(at)].first = first;
    samples.slices[static_cast<std::size_t>(at)].count = count;
    first += count;
  }
  SamplesRecord record;
  add_repetition(samples, record);
  CHECK(record.repetitions[0].lower_quartile_seconds == Approx(20));
  samples.steps_per_sample = 2;
  SamplesRecord of_means;
  add_repetition(samples, of_means);
  CHECK_FALSE(of_means.repetitions[0].lower_quartile_seconds);
  samples.steps_per_sample = 1;
  samples.slices = {slice(0, true, "near")};
  samples.slices[0].count = 19;
  SamplesRecord of_few;
  add_repetition(samples, of_few);
  CHECK_FALSE(of_few.repetitions[0].lower_quartile_seconds);
}

TEST_CASE("a process that measured nothing adds no repetition", "[measure]") {
  SamplesRecord record;
  add_repetition(Samples(), record);
  CHECK(record.repetitions.empty());
  CHECK(record.warmup_discarded == 0);
}

TEST_CASE("repetitions are dropped with their slices and samples", "[measure]") {
  SamplesRecord samples = testing::run_of_seconds({0.006, 0.007, 0.008}).samples;
  keep_repetitions(3, samples);
  CHECK(samples.step_seconds.size() == 9);
  samples.repetitions[1].lockstep = "17-1";
  keep_repetitions(2, samples);
  CHECK(samples.repetitions.size() == 2);
  CHECK(samples.repetitions[1].lockstep == "17-1");
  CHECK(samples.slices.size() == 2);
  CHECK(samples.step_seconds.size() == 6);
  samples.slices[1].first = -5;  // as in a file that somebody else wrote
  keep_repetitions(1, samples);
  CHECK(samples.step_seconds.empty());
  keep_repetitions(0, samples);
  CHECK(samples.repetitions.empty());
  CHECK(samples.slices.empty());
}

}  // namespace ptbench

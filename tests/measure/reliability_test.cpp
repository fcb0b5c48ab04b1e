#include "src/measure/reliability.h"

#include <catch2/catch.hpp>
#include <cstddef>

namespace ptbench {
namespace {

/// `clean` of `all` repetitions are, on near cores; the interval is ± `half_width` of the
/// throughput.
RunRecord run_of(std::size_t clean, std::size_t all, std::optional<double> half_width) {
  RunRecord run;
  run.throughput.value = 1000;
  if (half_width)
    run.throughput.ci95 = Interval{1000 * (1 - *half_width), 1000 * (1 + *half_width)};
  for (std::size_t repetition = 0; repetition < all; ++repetition)
    run.samples.repetitions.push_back(
        {.median_seconds = 0.01, .placement = "near", .clean_slices = repetition < clean ? 2 : 0});
  return run;
}

}  // namespace

TEST_CASE("a run is reliable with three clean repetitions and a narrow interval") {
  const Reliability found = reliability_of(run_of(3, 5, 0.0093));
  CHECK(found.is_reliable());
  CHECK(found.clean == 3);
  CHECK(found.repetitions == 5);
  REQUIRE(found.deviation.has_value());
  CHECK(found.deviation->low == Approx(-0.0093));
  CHECK(found.deviation->high == Approx(0.0093));
  CHECK(text_of(found) == "reliable to ± 0.93 %");
  CHECK(reliability_of(run_of(5, 5, 0.049)).is_reliable());
}

TEST_CASE("too wide an interval is not reliable, however many repetitions are clean") {
  const Reliability found = reliability_of(run_of(5, 5, 0.14));
  CHECK(found.trust == Trust::too_noisy);
  CHECK_FALSE(found.is_reliable());
  CHECK(text_of(found) == "not reliable: ± 14 %, 5 of 5 repetitions clean");
  CHECK(reliability_of(run_of(5, 5, 0.051)).trust == Trust::too_noisy);
}

TEST_CASE("too few clean repetitions are not reliable, however narrow the interval") {
  for (const std::size_t clean : {0U, 1U, 2U})
    CHECK(reliability_of(run_of(clean, 5, 0.001)).trust == Trust::few_clean);
  CHECK(text_of(reliability_of(run_of(0, 5, 0.001))) == "not reliable: 0 of 5 repetitions clean");
  CHECK(reliability_of(run_of(3, 5, std::nullopt)).trust == Trust::few_clean);
}

TEST_CASE(
    "repetitions of which nobody knows whether they are clean are no evidence, and are told") {
  RunRecord run = run_of(0, 5, 0.001);
  for (Size repetition = 0; repetition < 5; ++repetition)
    for (Size slice = 0; slice < 3; ++slice)
      run.samples.slices.emplace_back().repetition = repetition;
  run.samples.slices[0].clean = false;   // most of its repetition's are unknown
  run.samples.slices[13].clean = false;  // and of this one, which is not clean
  run.samples.slices[14].clean = false;
  const Reliability found = reliability_of(run);
  CHECK(found.trust == Trust::few_clean);
  CHECK(found.clean == 0);
  CHECK(found.unknown == 4);
  CHECK(text_of(found) == "not reliable: 0 of 5 repetitions clean, 4 unknown");
}

TEST_CASE("an interval that is lopsided is told by its ends") {
  RunRecord run = run_of(4, 5, 0.1);
  run.throughput.ci95 = Interval{540, 1850};
  CHECK(text_of(reliability_of(run)) == "not reliable: -46 % to +85 %, 4 of 5 repetitions clean");
}

TEST_CASE("a ratio is as reliable as the less reliable of its two runs") {
  const RunRecord good = run_of(5, 5, 0.01);
  const RunRecord bad = run_of(2, 5, 0.01);
  CHECK(is_ratio_reliable(good, &good));
  CHECK(is_ratio_reliable(good, nullptr));
  CHECK_FALSE(is_ratio_reliable(good, &bad));
  CHECK_FALSE(is_ratio_reliable(bad, &good));
  CHECK_FALSE(is_ratio_reliable(bad, nullptr));
}

TEST_CASE("clean repetitions of unlike placements are no evidence for each other") {
  RunRecord run = run_of(4, 4, 0.01);
  for (const std::size_t far : {2U, 3U}) run.samples.repetitions[far].placement = "far";
  const Reliability found = reliability_of(run);
  CHECK(found.clean == 2);
  CHECK(text_of(found) == "not reliable: 2 of 4 repetitions clean");
}

TEST_CASE("one process tells nothing of others") {
  for (const std::size_t all : {0U, 1U}) {
    const Reliability found = reliability_of(run_of(all, all, std::nullopt));
    CHECK(found.trust == Trust::one_repetition);
    CHECK(text_of(found) ==
          "not reliable: one repetition does not show how much others would differ");
  }
}

TEST_CASE("what has no throughput is not measured") {
  RunRecord run = run_of(5, 5, 0.01);
  SECTION("failed") { run.status = Status::failed; }
  SECTION("skipped") { run.status = Status::skipped; }
  SECTION("without a value") { run.throughput.value.reset(); }
  SECTION("a file that somebody else wrote") { run.throughput.value = 0; }
  CHECK(reliability_of(run).trust == Trust::not_measured);
  CHECK(text_of(reliability_of(run)).empty());
}

TEST_CASE("an interrupted run is as reliable as what was measured of it") {
  RunRecord run = run_of(4, 4, 0.01);
  run.status = Status::interrupted;
  CHECK(reliability_of(run).is_reliable());
}

}  // namespace ptbench

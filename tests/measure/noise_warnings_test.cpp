#include "src/measure/noise_warnings.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptbench {
namespace {

/// Everything is well: five clean repetitions of four slices, and a narrow interval.
RunRecord quiet_run() {
  RunRecord run;
  for (Size repetition = 0; repetition < 5; ++repetition) {
    for (Size slice = 0; slice < 4; ++slice)
      run.samples.slices.push_back({.repetition = repetition,
                                    .first = slice,
                                    .count = 1,
                                    .clean = true,
                                    .median_seconds = 0.006,
                                    .core_latency_seconds = 30e-9,
                                    .placement = "near",
                                    .foreign_cpu_fraction = 0.01,
                                    .steal_fraction = 0,
                                    .frequency_hertz = 3e9});
    run.samples.repetitions.push_back(
        {.median_seconds = 0.006, .placement = "near", .clean_slices = 4});
  }
  run.samples.stop_reason = StopReason::noise;
  run.step_seconds.median = 0.006;
  run.step_seconds.ci95 = Interval{.low = 0.00597, .high = 0.00603};
  return run;
}

const NoiseContext kContext{.cores = 2};

std::set<std::string> codes_of(const RunRecord& run) {
  std::set<std::string> codes;
  for (const WarningRecord& warning : run.warnings) {
    CHECK(codes.insert(warning.code).second);
    CHECK_FALSE(warning.message.empty());
    CHECK_FALSE(warning.remedy.empty());
  }
  return codes;
}

std::set<std::string> warned(RunRecord run, const NoiseContext& context = kContext) {
  add_noise_warnings(run, context);
  return codes_of(run);
}

/// What the only warning says.
std::string message_of(RunRecord run, const std::string& code,
                       const NoiseContext& context = kContext) {
  add_noise_warnings(run, context);
  CHECK(codes_of(run) == std::set<std::string>{code});
  return run.warnings.empty() ? "" : run.warnings.front().message;
}

TEST_CASE("a quiet run warns of nothing", "[measure]") {
  CHECK(warned(quiet_run()).empty());
  CHECK(warned(quiet_run(), {.pressure = Pressure{}}).empty());
  CHECK(warned(RunRecord()).empty());
}

TEST_CASE("foreign load is told with its share and its slices", "[measure]") {
  RunRecord run = quiet_run();
  run.samples.slices[0].foreign_cpu_fraction = 0.2;
  CHECK(warned(run).empty());  // one slice in twenty
  run.samples.slices[7].foreign_cpu_fraction = 0.3;
  CHECK(message_of(run, "foreign-load") ==
        "other programs took 25 % of the 2 cores in 2 of 20 slices");
}

TEST_CASE("steal counts by its mean, since it comes in ticks", "[measure]") {
  RunRecord run = quiet_run();
  run.samples.slices[3].steal_fraction = 0.02;
  CHECK(warned(run).empty());
  run.samples.slices[4].steal_fraction = 0.18;
  CHECK(message_of(run, "steal") ==
        "the hypervisor took 1 % of the cores' time, up to 18 % in a slice");
}

TEST_CASE("cores that are far throughout are told with their latency", "[measure]") {
  RunRecord run = quiet_run();
  for (SliceRecord& slice : run.samples.slices) {
    slice.placement = "far";
    slice.core_latency_seconds = 170e-9;
  }
  run.samples.slices.front().clean = false;
  run.samples.slices.front().placement.reset();  // disturbed
  CHECK_THAT(message_of(run, "cores-far"), Catch::Contains("170 ns"));
}

TEST_CASE("cores that moved are told", "[measure]") {
  RunRecord run = quiet_run();
  SliceRecord& slice = run.samples.slices[5];
  SECTION("between slices") {
    slice.placement = "far";
    CHECK(message_of(run, "mixed-placement") ==
          "the cores moved: 19 slices with near cores, 1 with far ones, 0 in which they changed");
  }
  SECTION("within a slice") {
    slice.placement = "mixed";
    slice.clean = false;
    CHECK(message_of(run, "mixed-placement") ==
          "the cores moved: 19 slices with near cores, 0 with far ones, 1 in which they changed");
  }
  SECTION("seen only under load, which may have been something else") {
    slice.placement = "far";
    slice.clean = false;
    CHECK(warned(run).empty());
  }
}

TEST_CASE("a frequency that changed is told with its direction", "[measure]") {
  RunRecord run = quiet_run();
  SliceRecord& slice = run.samples.slices[5];
  SECTION("down") {
    slice.frequency_hertz = 2.4e9;
    CHECK(message_of(run, "frequency-changed") ==
          "the cores were throttled at times: 2.40 GHz to 3.00 GHz, usually 3.00 GHz");
  }
  SECTION("up") {
    slice.frequency_hertz = 3.6e9;
    CHECK(message_of(run, "frequency-changed") ==
          "the cores were boosted at times: 3.00 GHz to 3.60 GHz, usually 3.00 GHz");
  }
  SECTION("hardly") {
    slice.frequency_hertz = 2.9e9;
    CHECK(warned(run).empty());
  }
  SECTION("in a slice that does not count") {
    slice.frequency_hertz = 1e9;
    slice.clean = false;
    CHECK(warned(run).empty());
  }
}

TEST_CASE("too few clean repetitions are told where several were asked for", "[measure]") {
  RunRecord run = quiet_run();
  for (std::size_t unclean = 0; unclean < 3; ++unclean)
    run.samples.repetitions[unclean].clean_slices = 0;
  run.step_seconds.ci95.reset();
  CHECK_THAT(message_of(run, "few-clean-repetitions"), Catch::StartsWith("2 of 5 repetitions"));
  CHECK(warned(run, {.fixed_length = true}).empty());
  run.status = Status::interrupted;
  CHECK(warned(run).empty());
}

TEST_CASE("repetitions of unknown load ask for more time", "[measure]") {
  RunRecord run = quiet_run();
  for (SliceRecord& slice : run.samples.slices) {
    slice.clean.reset();
    slice.foreign_cpu_fraction.reset();
  }
  for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
  run.step_seconds.ci95.reset();
  add_noise_warnings(run, kContext);
  REQUIRE(codes_of(run) == std::set<std::string>{"few-clean-repetitions"});
  CHECK_THAT(run.warnings[0].message,
             Catch::StartsWith("0 of 5 repetitions") &&
                 Catch::EndsWith("; it is not known whether something disturbed 5 of them"));
  CHECK_THAT(run.warnings[0].remedy, Catch::StartsWith("Run where /proc/stat shows the load"));
  for (SliceRecord& slice : run.samples.slices) slice.turn = 0;
  add_noise_warnings(run, kContext);
  CHECK_THAT(run.warnings[0].remedy, Catch::Contains("a longer --max-time"));
  // Where load is known, and whether a device was throttled is not, time does not help.
  for (SliceRecord& slice : run.samples.slices) slice.foreign_cpu_fraction = 0;
  add_noise_warnings(run, kContext);
  CHECK_THAT(run.warnings[0].remedy, !Catch::Contains("Use a longer --max-time"));
}

TEST_CASE("slices too short to be clean ask for more time", "[measure]") {
  RunRecord run = quiet_run();
  run.step_seconds.ci95.reset();
  run.samples.steps_per_sample = 20;
  run.samples.slices.resize(5);
  for (std::size_t at = 0; at < 5; ++at) {
    run.samples.slices[at].first = static_cast<Size>(at);
    run.samples.slices[at].clean = false;
    run.samples.step_seconds.push_back(0.005);
    run.samples.repetitions[at].clean_slices = 0;
  }
  add_noise_warnings(run, kContext);
  REQUIRE(codes_of(run) == std::set<std::string>{"few-clean-repetitions"});
  CHECK_THAT(run.warnings[0].message, Catch::EndsWith("; slices lasted 0.1 s, 0.25 s are needed"));
  CHECK_THAT(run.warnings[0].remedy, Catch::Contains("a longer --max-time"));
  for (std::size_t at = 0; at < 3; ++at) run.samples.step_seconds[at] = 0.02;
  add_noise_warnings(run, kContext);
  CHECK_THAT(run.warnings[0].message, !Catch::Contains("lasted"));
  CHECK_THAT(run.warnings[0].remedy, Catch::Contains("quiet machine"));
}

TEST_CASE("a record that lacks fields is warned of without them", "[measure]") {
  RunRecord run;
  run.samples.slices.resize(3);
  run.samples.slices[1].placement = "mixed";
  run.samples.slices[2].placement = "far";
  run.samples.slices[2].clean = true;
  run.samples.repetitions.resize(2);
  run.samples.stop_reason = StopReason::max_time;
  run.step_seconds.ci95 = Interval{.low = 1, .high = -1};
  CHECK(warned(run) == std::set<std::string>{"mixed-placement", "few-clean-repetitions"});
}

TEST_CASE("repetitions count by placement", "[measure]") {
  RunRecord run = quiet_run();
  run.samples.slices.clear();
  run.samples.repetitions[0].placement = "far";
  run.samples.repetitions[1].placement = "far";
  CHECK(warned(run).empty());
  run.samples.repetitions[2].placement.reset();
  CHECK_THAT(message_of(run, "few-clean-repetitions"), Catch::StartsWith("2 of 5 repetitions"));
}

/// Of the only warning, a too-noisy one.
std::string remedy_of(RunRecord run, const NoiseContext& context = kContext) {
  add_noise_warnings(run, context);
  CHECK(codes_of(run) == std::set<std::string>{"too-noisy"});
  return run.warnings.empty() ? "" : run.warnings.front().remedy;
}

TEST_CASE("an interval too wide when the time is up is told with its width", "[measure]") {
  RunRecord run = quiet_run();
  run.step_seconds.ci95 = Interval{.low = 0.0058, .high = 0.0062};
  CHECK(warned(run).empty());  // a reason other than time decided
  run.samples.stop_reason = StopReason::max_time;
  CHECK(message_of(run, "too-noisy") ==
        "known only to ±3.33 % when the time was up, not to the ±1 % asked for");
  CHECK(warned(run, {.target_noise = 0.05}).empty());
  CHECK(warned(run, {.fixed_length = true}).empty());
  run.step_seconds.ci95.reset();
  CHECK(warned(run).empty());
}

TEST_CASE("remedies for a wide interval can be followed", "[measure]") {
  RunRecord run = quiet_run();
  run.step_seconds.ci95 = Interval{.low = 0.0058, .high = 0.0062};
  run.samples.stop_reason = StopReason::max_time;
  CHECK(remedy_of(run) == "Use --max-time 60 or more --repeats.");
  CHECK(remedy_of(run, {.max_time_seconds = 90}) == "Use --max-time 180 or more --repeats.");
  CHECK(remedy_of(run, {.max_time_seconds = 0.5}) == "Use --max-time 1 or more --repeats.");
  CHECK(remedy_of(run, {.in_sweep = true}) == "Use --max-time 60 or more --rounds.");
}

TEST_CASE("remedies name the option that a sweep or a fixed length has", "[measure]") {
  const auto remedy = [](RunRecord run, const NoiseContext& context) {
    add_noise_warnings(run, context);
    REQUIRE(run.warnings.size() == 1);
    return run.warnings.front().remedy;
  };
  RunRecord moved = quiet_run();
  moved.samples.slices[5].placement = "far";
  CHECK_THAT(remedy(moved, kContext), Catch::Contains("; more --repeats measure it"));
  CHECK_THAT(remedy(moved, {.in_sweep = true}), Catch::Contains("; more --rounds measure it"));
  moved.samples.stop_reason = StopReason::steps;
  CHECK_THAT(remedy(moved, kContext), Catch::Contains("without --steps and --epochs, --repeats"));
  CHECK_THAT(remedy(moved, {.in_sweep = true}), Catch::Contains("; more --rounds measure it"));
  RunRecord unclean = quiet_run();
  for (std::size_t at = 0; at < 3; ++at) unclean.samples.repetitions[at].clean_slices = 0;
  CHECK_THAT(remedy(unclean, kContext), Catch::Contains("more --repeats and --max-time"));
  CHECK_THAT(remedy(unclean, {.in_sweep = true}), Catch::Contains("more --rounds and --max-time"));
}

TEST_CASE("repetitions that scatter wildly are told, however many were asked for", "[measure]") {
  RunRecord run = quiet_run();
  run.samples.stop_reason.reset();
  run.samples.repetitions[1].median_seconds = 0.0072;
  run.step_seconds.ci95 = Interval{.low = 0.0056, .high = 0.0069};
  CHECK(message_of(run, "too-noisy") ==
        "the repetitions scatter by 8.15 %, far beyond the 1 % that is usual here: compare calls "
        "such a run ambiguous");
  CHECK(warned(run, {.target_noise = 1}) == std::set<std::string>{"too-noisy"});
  CHECK(warned(run, {.fixed_length = true}).empty());
  NoiseContext used_to_it{.target_noise = 1};
  used_to_it.prior.learn("near", {.standard_deviation = 0.03, .degrees_of_freedom = 20});
  CHECK(warned(run, used_to_it).empty());
  run.samples.stop_reason = StopReason::max_time;
  CHECK(warned(run) == std::set<std::string>{"too-noisy"});
}

TEST_CASE("without enough clean repetitions nothing is said of their interval", "[measure]") {
  RunRecord run = quiet_run();
  for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
  run.step_seconds.ci95 = Interval{.low = 0.0058, .high = 0.0062};
  run.samples.stop_reason = StopReason::max_time;
  CHECK(warned(run) == std::set<std::string>{"few-clean-repetitions"});
}

TEST_CASE("a warm-up that was cut short is told with what gives it more time", "[measure]") {
  RunRecord run;
  Samples samples;
  samples.warmup_discarded = 9;
  add_warmup_warning(run, samples);
  CHECK(run.warnings.empty());
  samples.warmup_was_cut = true;
  add_warmup_warning(run, samples);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].code == "short-warmup");
  CHECK(run.warnings[0].message.find("over after 9 steps") != std::string::npos);
  CHECK(run.warnings[0].remedy == "Give a longer --max-time.");
  mark_quick(run);
  REQUIRE(run.warnings.size() == 2);
  CHECK(run.warnings[0].remedy == "Measure without --quick.");
}

TEST_CASE("a slowdown on purpose is told", "[measure]") {
  RunRecord run = quiet_run();
  run.samples.slowdown = 0.05;
  CHECK(message_of(run, "slowdown") == "each step was made 5 % longer on purpose");
  run.samples.slowdown_realized = 0.05012;
  CHECK(message_of(run, "slowdown") ==
        "each step was made 5 % longer on purpose, 5.01 % as measured");
}

TEST_CASE("pressure on the process is told", "[measure]") {
  NoiseContext context = kContext;
  SECTION("of its quota") {
    context.pressure = Pressure{.throttled_periods = 12, .throttled_seconds = 0.5};
    CHECK(message_of(quiet_run(), "cpu-quota", context) ==
          "the CPU quota of the control group was used up 12 times, and threads waited 500 ms");
  }
  SECTION("of heat") {
    context.pressure = Pressure{.thermal_throttles = 3};
    CHECK_THAT(message_of(quiet_run(), "thermal-throttling", context), Catch::Contains("3 times"));
  }
  SECTION("of memory") {
    context.pressure = Pressure{.swapped_bytes = Bytes{12} << 20U};
    CHECK_THAT(message_of(quiet_run(), "swapping", context), Catch::Contains("12.0 MiB"));
    context.pressure = Pressure{.own_swap_bytes = Bytes{3} << 20U};
    CHECK_THAT(message_of(quiet_run(), "swapping", context), Catch::Contains("3.00 MiB"));
  }
  SECTION("not of a few pages") {
    context.pressure = Pressure{.swapped_bytes = 8192, .own_swap_bytes = 4096};
    CHECK(warned(quiet_run(), context).empty());
  }
}

TEST_CASE("warnings are renewed, not repeated, and others stay", "[measure]") {
  RunRecord run = quiet_run();
  run.warnings = {{.code = "debug-build", .message = "old", .remedy = "r"},
                  {.code = "too-noisy", .message = "old", .remedy = "r"},
                  {.code = "slowdown", .message = "old", .remedy = "r"},
                  {.code = "cpu-quota", .message = "old", .remedy = "r"}};
  run.samples.slowdown = 0.1;
  add_noise_warnings(run, kContext);
  CHECK(codes_of(run) == std::set<std::string>{"debug-build", "slowdown", "cpu-quota"});
  const RunRecord once = run;
  add_noise_warnings(run, kContext);
  CHECK(run.warnings.size() == once.warnings.size());
  CHECK_THAT(run.warnings.back().message, Catch::Contains("10 %"));
  CHECK(run.warnings[1].message == "old");  // the quota's: nothing newer is known
}

}  // namespace
}  // namespace ptbench

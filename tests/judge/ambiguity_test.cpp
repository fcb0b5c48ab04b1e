#include "src/judge/ambiguity.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::Process;
using testing::run_of;
using testing::run_of_seconds;

/// Of a new side beside a quiet base.
std::string why_not(const RunRecord& fresh) {
  const RunRecord base = run_of_seconds({0.006, 0.006, 0.006});
  const LogTimes of_base = clean_log_times(base.samples);
  const LogTimes of_fresh = clean_log_times(fresh.samples);
  return why_too_few({.samples = base.samples, .times = of_base},
                     {.samples = fresh.samples, .times = of_fresh});
}

/// Of a new side of three such processes.
std::string why(const Process& process, std::optional<Size> steps_per_sample = std::nullopt) {
  RunRecord fresh = run_of({process, process, process});
  fresh.samples.steps_per_sample = steps_per_sample;
  return why_not(fresh);
}

}  // namespace

TEST_CASE("short slices are not blamed on load", "[measure]") {
  const Process loaded{.clean = false, .foreign_cpu_fraction = 0.2};
  CHECK_THAT(why(loaded), Catch::EndsWith("other programs used 20 % of the cores"));
  CHECK_THAT(why(loaded, 100), Catch::EndsWith("other programs used 20 % of the cores"));
  CHECK_THAT(
      why(loaded, 5),
      Catch::EndsWith(": slices lasted 0.093 s, 0.25 s are needed: use a longer --max-time"));
}

TEST_CASE("steal that a clean slice may have is not what kept one from being clean", "[measure]") {
  CHECK_THAT(why({.clean = false, .steal_fraction = 0.1}), Catch::Contains("the hypervisor took"));
  CHECK_THAT(why({.clean = false, .steal_fraction = 0.01}),
             !Catch::Contains("the hypervisor took"));
}

TEST_CASE("unknown load is told as that", "[measure]") {
  const Process process{.clean = false};
  RunRecord fresh = run_of({process, process, process});
  for (SliceRecord& slice : fresh.samples.slices) slice.clean.reset();
  CHECK_THAT(why_not(fresh),
             Catch::EndsWith(
                 "what else ran is not known: /proc/stat does not show the load of these cores"));
  for (SliceRecord& slice : fresh.samples.slices) slice.turn = 0;
  CHECK_THAT(why_not(fresh),
             Catch::EndsWith("what else ran is not known: use a longer --max-time"));
  for (SliceRecord& slice : fresh.samples.slices) slice.foreign_cpu_fraction = 0;
  CHECK_THAT(why_not(fresh), Catch::EndsWith("whether the GPU was throttled is not known"));
}

TEST_CASE("a device that was throttled or shared is named", "[measure]") {
  const Process unclean{.clean = false};
  RunRecord fresh = run_of({unclean, unclean, unclean});
  for (SliceRecord& slice : fresh.samples.slices)
    slice.device_throttle_reasons = {{"sw_power_cap"}};
  CHECK_THAT(why_not(fresh), Catch::EndsWith("the GPU was throttled"));
  for (SliceRecord& slice : fresh.samples.slices) {
    slice.device_throttle_reasons = {{"gpu_idle"}};
    slice.device_foreign_fraction = 0.4;
  }
  CHECK_THAT(why_not(fresh), Catch::EndsWith("another process used the GPU"));
}

}  // namespace ptbench

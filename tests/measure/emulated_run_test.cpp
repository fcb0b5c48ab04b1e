#include "src/measure/emulated_run.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

SliceRecord timed_slice(std::vector<std::string> reasons) {
  return {.repetition = 0,
          .first = 3,
          .count = 4,
          .clean = false,  // too short
          .median_seconds = 0.1,
          .foreign_cpu_fraction = 0.5,
          .steal_fraction = 0.1,
          .frequency_hertz = 1.41e9,
          .joules = 3,
          .device_temperature_celsius = 40,
          .device_throttle_reasons = std::move(reasons),
          .device_other_processes = 0,
          .device_foreign_fraction = 0,
          .device_joules = 2};
}

TEST_CASE("of an emulated device's slices stays what has no speed, as one", "[measure]") {
  RunRecord run;
  run.samples.step_seconds = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  run.samples.slices = {timed_slice({"gpu_idle"}), timed_slice({"gpu_idle", "hw_slowdown"}),
                        timed_slice({"sync_boost"})};
  run.samples.slices[1].device_temperature_celsius = 71;
  run.samples.slices[2].device_other_processes = 2;
  leave_out_durations(run);
  CHECK(run.samples.step_seconds.empty());
  REQUIRE(run.samples.slices.size() == 1);
  const SliceRecord& slice = run.samples.slices.front();
  CHECK(slice.clean == false);
  CHECK(slice.first == 0);
  CHECK(slice.count == 0);
  CHECK(slice.device_temperature_celsius == 71);
  CHECK(slice.device_throttle_reasons ==
        std::vector<std::string>{"gpu_idle", "hw_slowdown", "sync_boost"});
  CHECK(slice.device_other_processes == 2);
  for (const auto& value : {slice.median_seconds, slice.frequency_hertz, slice.joules,
                            slice.device_joules, slice.foreign_cpu_fraction, slice.steal_fraction})
    CHECK_FALSE(value.has_value());
}

TEST_CASE("an emulated device that nothing disturbs has a clean slice, whatever the host does",
          "[measure]") {
  RunRecord run;
  run.samples.slices = {timed_slice({"gpu_idle"})};
  leave_out_durations(run);
  CHECK(run.samples.slices.at(0).clean == true);
}

TEST_CASE("an emulated device that tells nothing has no slices", "[measure]") {
  RunRecord run;
  run.samples.slices.resize(2);
  leave_out_durations(run);
  CHECK(run.samples.slices.empty());
}

}  // namespace
}  // namespace ptbench

#include "src/measure/device_warnings.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/measure/noise_warnings.h"

namespace ptbench {
namespace {

using Catch::Contains;

RunRecord run_on_gpu(Size slices) {
  RunRecord run;
  for (Size slice = 0; slice < slices; ++slice)
    run.samples.slices.push_back({.first = slice,
                                  .count = 1,
                                  .clean = true,
                                  .median_seconds = 0.006,
                                  .steal_fraction = {},
                                  .frequency_hertz = 1.98e9,
                                  .device_temperature_celsius = 60,
                                  .device_throttle_reasons = std::vector<std::string>{},
                                  .device_other_processes = 0,
                                  .device_foreign_fraction = 0});
  return run;
}

WarningRecord only_warning(RunRecord run) {
  add_device_warnings(run);
  REQUIRE(run.warnings.size() == 1);
  return run.warnings.front();
}

}  // namespace

TEST_CASE("devices that nothing disturbs are not warned of", "[measure]") {
  RunRecord run = run_on_gpu(20);
  run.samples.slices[3].device_throttle_reasons = {{"sw_power_cap"}};  // one slice in twenty
  for (SliceRecord& slice : run.samples.slices) slice.device_other_processes = 3;
  for (SliceRecord& slice : run.samples.slices)
    slice.device_throttle_reasons->emplace_back("gpu_idle");
  add_device_warnings(run);
  CHECK(run.warnings.empty());
  RunRecord nothing_known;
  nothing_known.samples.slices.resize(3);
  add_device_warnings(nothing_known);
  CHECK(nothing_known.warnings.empty());
}

TEST_CASE("throttling is told with its reasons, and what helps against the usual one",
          "[measure]") {
  RunRecord run = run_on_gpu(20);
  run.samples.slices[3].device_throttle_reasons = {{"gpu_idle", "sw_power_cap"}};
  run.samples.slices[5].device_throttle_reasons = {{"hw_slowdown", "hw_thermal_slowdown"}};
  run.samples.slices[9].device_throttle_reasons = {{"hw_thermal_slowdown"}};
  const WarningRecord warning = only_warning(run);
  CHECK(warning.code == "device-throttled");
  CHECK(warning.message ==
        "the GPU was throttled in 3 of 20 slices (sw_power_cap in 1, hw_slowdown in 1, "
        "hw_thermal_slowdown in 2): these are not clean");
  CHECK_THAT(warning.remedy, Contains("cooling"));
}

TEST_CASE("each reason has its remedy", "[measure]") {
  const auto remedy_of = [](const std::string& reason) {
    RunRecord run = run_on_gpu(1);
    run.samples.slices[0].device_throttle_reasons = {{reason}};
    const WarningRecord warning = only_warning(run);
    CHECK(warning.message ==
          "the GPU was throttled in 1 of 1 slice (" + reason + "): these are not clean");
    return warning.remedy;
  };
  CHECK_THAT(remedy_of("sw_power_cap"), Contains("nvidia-smi -lgc") && Contains("power limit"));
  CHECK_THAT(remedy_of("sw_thermal_slowdown"), Contains("cooling"));
  CHECK_THAT(remedy_of("hw_power_brake_slowdown"), Contains("power supply"));
  CHECK_THAT(remedy_of("hw_slowdown"), Contains("cooling and power supply"));
}

TEST_CASE("another process that uses the GPU is told with its share", "[measure]") {
  RunRecord run = run_on_gpu(20);
  run.samples.slices[3].device_foreign_fraction = 0.3;
  run.samples.slices[4].device_foreign_fraction = 0.42;
  const WarningRecord warning = only_warning(run);
  CHECK(warning.code == "device-shared");
  CHECK(warning.message == "another process used the GPU in 2 of 20 slices, up to 42.0 % of it");
}

TEST_CASE("warnings of devices are among those of noise, and renewed with them", "[measure]") {
  RunRecord run = run_on_gpu(1);
  run.samples.slices[0].device_throttle_reasons = {{"hw_slowdown"}};
  add_noise_warnings(run, {.fixed_length = true});
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].code == "device-throttled");
  run.samples.slices[0].device_throttle_reasons->clear();
  add_noise_warnings(run, {.fixed_length = true});
  CHECK(run.warnings.empty());
}

TEST_CASE("a device that does not tell is warned of with the reason", "[measure]") {
  RunRecord run;
  add_watch_warning(run, "cuda:1", {.reason = "no library", .remedy = "install it"});
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].code == "device-not-watched");
  CHECK(run.warnings[0].message == "whether cuda:1 was throttled is not known: no library");
  CHECK(run.warnings[0].remedy == "To find out, install it.");
}

}  // namespace ptbench

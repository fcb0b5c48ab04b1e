#include "src/measure/slice_probe.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ptbench {
namespace {

constexpr double kNear = 30e-9;
constexpr double kFar = 170e-9;

SliceRecord classified(const SliceConditions& conditions) {
  SliceRecord slice;
  classify(slice, conditions);
  return slice;
}

SliceConditions unloaded(SliceConditions conditions) {
  conditions.foreign_cpu_fraction = 0;
  conditions.steal_fraction = 0;
  return conditions;
}

TEST_CASE("a quiet slice is clean and says all that was seen", "[measure]") {
  const SliceRecord slice = classified({.core_latency_begin = kNear,
                                        .core_latency_end = 35e-9,
                                        .foreign_cpu_fraction = 0.02,
                                        .steal_fraction = 0.001,
                                        .frequency_hertz = 3e9,
                                        .mean_frequency_hertz = 3.1e9});
  CHECK(slice.clean == true);
  CHECK(slice.placement == "near");
  CHECK(slice.core_latency_seconds == 35e-9);
  CHECK(slice.foreign_cpu_fraction == 0.02);
  CHECK(slice.steal_fraction == 0.001);
  CHECK(slice.frequency_hertz == 3e9);
  CHECK(slice.mean_frequency_hertz == 3.1e9);
}

TEST_CASE("far cores are clean while they stay far", "[measure]") {
  const SliceRecord slice =
      classified(unloaded({.core_latency_begin = kFar, .core_latency_end = 190e-9}));
  CHECK(slice.clean == true);
  CHECK(slice.placement == "far");
  CHECK(slice.core_latency_seconds == 190e-9);
}

TEST_CASE("cores that moved within a slice make it mixed and unclean", "[measure]") {
  const bool towards_near = GENERATE(true, false);
  const SliceRecord slice = classified({.core_latency_begin = towards_near ? kFar : kNear,
                                        .core_latency_end = towards_near ? kNear : kFar});
  CHECK(slice.clean == false);
  CHECK(slice.placement == "mixed");
  CHECK(slice.core_latency_seconds == kFar);
}

TEST_CASE("disturbed cores have no placement and are not clean", "[measure]") {
  const SliceRecord slice =
      classified({.core_latency_begin = kNear, .core_latency_end = 5e-3, .cores_disturbed = true});
  CHECK(slice.clean == false);
  CHECK_FALSE(slice.placement.has_value());
  CHECK(slice.core_latency_seconds == 5e-3);
}

TEST_CASE("load of others makes a slice unclean", "[measure]") {
  const auto clean = [](double foreign, double steal) {
    return classified({.foreign_cpu_fraction = foreign, .steal_fraction = steal}).clean;
  };
  CHECK(clean(0.05, 0) == true);
  CHECK(clean(0.051, 0) == false);
  CHECK(clean(0, 0.015) == true);
  CHECK(clean(0, 0.016) == false);
}

TEST_CASE("whether a slice of unknown load is clean is not known", "[measure]") {
  CHECK_FALSE(classified({}).clean.has_value());
  CHECK_FALSE(classified({.core_latency_begin = kNear}).clean.has_value());
  CHECK_FALSE(classified({.foreign_cpu_fraction = 0}).clean.has_value());
  CHECK_FALSE(classified({.steal_fraction = 0}).clean.has_value());
  CHECK_FALSE(is_clean(classified({})));
  SECTION("but what is known to disturb it tells") {
    CHECK(classified({.steal_fraction = 0.1}).clean == false);
    CHECK(classified({.core_latency_begin = kNear, .core_latency_end = kFar}).clean == false);
    CHECK(classified({.cores_disturbed = true}).clean == false);
    CHECK(classified({.device_throttling = ThrottleReasons{0x4U}}).clean == false);
  }
}

TEST_CASE("whether a slice is clean is not known where nobody watched its device", "[measure]") {
  SliceConditions unwatched = unloaded({});
  unwatched.device_unwatched = true;
  SliceRecord slice = classified(unwatched);
  CHECK_FALSE(slice.clean.has_value());
  take_load(slice, {}, true);
  CHECK_FALSE(slice.clean.has_value());
  take_load(slice, {.foreign_fraction = 0.8}, true);
  CHECK(slice.clean == false);
}

TEST_CASE("a slice takes the load that is told later", "[measure]") {
  SliceRecord slice = classified({});
  SECTION("and is clean where that is little") {
    take_load(slice, {.foreign_fraction = 0.02, .steal_fraction = 0.001});
    CHECK(slice.clean == true);
    CHECK(slice.foreign_cpu_fraction == 0.02);
    CHECK(slice.steal_fraction == 0.001);
  }
  SECTION("and is not where it is much") {
    take_load(slice, {.foreign_fraction = 0.8});
    CHECK(slice.clean == false);
  }
  SECTION("and stays unclean where something else disturbed it") {
    slice.clean = false;
    take_load(slice, {});
    CHECK(slice.clean == false);
  }
}

TEST_CASE("what else is not known does not make a slice unclean", "[measure]") {
  const SliceRecord nothing = classified(unloaded({}));
  CHECK(nothing.clean == true);
  CHECK_FALSE(nothing.placement.has_value());
  CHECK_FALSE(nothing.core_latency_seconds.has_value());
  CHECK_FALSE(nothing.frequency_hertz.has_value());
  const SliceRecord half = classified(unloaded({.core_latency_end = kFar}));
  CHECK(half.clean == true);
  CHECK(half.placement == "far");
}

TEST_CASE("a slice says what devices told of themselves", "[measure]") {
  const SliceRecord slice = classified(unloaded({.device_temperature_celsius = 61,
                                                 .device_throttling = ThrottleReasons{0x1},
                                                 .device_other_processes = 2,
                                                 .device_foreign_fraction = 0.05,
                                                 .device_joules = 310}));
  CHECK(slice.clean == true);  // others hold the device, and hardly use it
  CHECK(slice.device_temperature_celsius == 61);
  CHECK(slice.device_throttle_reasons == std::vector<std::string>{"gpu_idle"});
  CHECK(slice.device_other_processes == 2);
  CHECK(slice.device_foreign_fraction == 0.05);
  CHECK(slice.device_joules == 310);
  CHECK_FALSE(classified({}).device_throttle_reasons.has_value());
  CHECK(classified({.device_throttling = ThrottleReasons{}}).device_throttle_reasons ==
        std::vector<std::string>{});
}

TEST_CASE("a device that is throttled makes a slice unclean", "[measure]") {
  for (const unsigned bits : {0x4U, 0x8U, 0x20U, 0x40U, 0x80U}) {
    const SliceRecord slice = classified({.device_throttling = ThrottleReasons{0x1U | bits}});
    CHECK(slice.clean == false);
    CHECK(is_throttled(slice));
  }
  for (const unsigned bits : {0x1U, 0x2U, 0x10U, 0x100U})
    CHECK(classified(unloaded({.device_throttling = ThrottleReasons{bits}})).clean == true);
}

TEST_CASE("reasons of a later version do not count as throttling", "[measure]") {
  SliceRecord slice;
  CHECK_FALSE(is_throttled(slice));
  slice.device_throttle_reasons = {{"solar_flare", "gpu_idle"}};
  CHECK_FALSE(is_throttled(slice));
  slice.device_throttle_reasons->emplace_back("hw_slowdown");
  CHECK(is_throttled(slice));
}

TEST_CASE("another process that uses the device makes a slice unclean", "[measure]") {
  const SliceRecord slice = classified({.device_foreign_fraction = 0.06});
  CHECK(slice.clean == false);
  CHECK(is_shared(slice));
  CHECK_FALSE(is_shared(classified({.device_other_processes = 9})));
}

}  // namespace
}  // namespace ptbench

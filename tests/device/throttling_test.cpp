#include "src/device/throttling.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("throttle reasons have the names of nvidia-smi, and back") {
  ThrottleReasons reasons;
  CHECK(names_of(reasons).empty());
  reasons.add(ThrottleReason::sw_power_cap);
  reasons.add(ThrottleReasons{0x40});
  CHECK(names_of(reasons) == Names{"sw_power_cap", "hw_thermal_slowdown"});
  for (const std::string& name : names_of(ThrottleReasons{0x1ff})) {
    const auto reason = throttle_reason_named(name);
    REQUIRE(reason.has_value());
    CHECK(name_of(*reason) == name);
  }
  CHECK(names_of(ThrottleReasons{0x1ff}).size() == 9);
  CHECK_FALSE(throttle_reason_named("sw_power_caps").has_value());
}

TEST_CASE("power and heat slow a device down, settings and idling do not") {
  for (const ThrottleReason reason :
       {ThrottleReason::sw_power_cap, ThrottleReason::hw_slowdown,
        ThrottleReason::sw_thermal_slowdown, ThrottleReason::hw_thermal_slowdown,
        ThrottleReason::hw_power_brake_slowdown})
    CHECK(slows_down(reason));
  for (const ThrottleReason reason :
       {ThrottleReason::gpu_idle, ThrottleReason::applications_clocks_setting,
        ThrottleReason::sync_boost, ThrottleReason::display_clock_setting})
    CHECK_FALSE(slows_down(reason));
  CHECK(slows_down(ThrottleReasons{0x1 | 0x4}));
  CHECK_FALSE(slows_down(ThrottleReasons{0x1 | 0x2 | 0x10 | 0x100}));
  CHECK_FALSE(slows_down(ThrottleReasons{0x10000}));  // that a later driver may tell
}

}  // namespace
}  // namespace ptbench

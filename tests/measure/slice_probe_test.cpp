#include "src/measure/slice_probe.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

constexpr double kNear = 30e-9;
constexpr double kFar = 170e-9;

SliceRecord classified(const SliceConditions& conditions) {
  SliceRecord slice;
  classify(slice, conditions);
  return slice;
}

TEST_CASE("a quiet slice is clean and says all that was seen", "[measure]") {
  const SliceRecord slice = classified({.core_latency_begin = kNear,
                                        .core_latency_end = 35e-9,
                                        .foreign_cpu_fraction = 0.02,
                                        .steal_fraction = 0.001,
                                        .frequency_hertz = 3e9});
  CHECK(slice.clean);
  CHECK(slice.placement == "near");
  CHECK(slice.core_latency_seconds == 35e-9);
  CHECK(slice.foreign_cpu_fraction == 0.02);
  CHECK(slice.steal_fraction == 0.001);
  CHECK(slice.frequency_hertz == 3e9);
}

TEST_CASE("far cores are clean while they stay far", "[measure]") {
  const SliceRecord slice = classified({.core_latency_begin = kFar, .core_latency_end = 190e-9});
  CHECK(slice.clean);
  CHECK(slice.placement == "far");
  CHECK(slice.core_latency_seconds == 190e-9);
}

TEST_CASE("cores that moved within a slice make it mixed and unclean", "[measure]") {
  const bool towards_near = GENERATE(true, false);
  const SliceRecord slice = classified({.core_latency_begin = towards_near ? kFar : kNear,
                                        .core_latency_end = towards_near ? kNear : kFar});
  CHECK_FALSE(slice.clean);
  CHECK(slice.placement == "mixed");
  CHECK(slice.core_latency_seconds == kFar);
}

TEST_CASE("disturbed cores have no placement and are not clean", "[measure]") {
  const SliceRecord slice =
      classified({.core_latency_begin = kNear, .core_latency_end = 5e-3, .cores_disturbed = true});
  CHECK_FALSE(slice.clean);
  CHECK_FALSE(slice.placement.has_value());
  CHECK(slice.core_latency_seconds == 5e-3);
}

TEST_CASE("load of others makes a slice unclean", "[measure]") {
  CHECK(classified({.foreign_cpu_fraction = 0.05}).clean);
  CHECK_FALSE(classified({.foreign_cpu_fraction = 0.051}).clean);
  CHECK(classified({.steal_fraction = 0.015}).clean);
  CHECK_FALSE(classified({.steal_fraction = 0.016}).clean);
}

TEST_CASE("what is not known does not make a slice unclean", "[measure]") {
  const SliceRecord nothing = classified({});
  CHECK(nothing.clean);
  CHECK_FALSE(nothing.placement.has_value());
  CHECK_FALSE(nothing.core_latency_seconds.has_value());
  CHECK_FALSE(nothing.foreign_cpu_fraction.has_value());
  CHECK_FALSE(nothing.frequency_hertz.has_value());
  const SliceRecord half = classified({.core_latency_end = kFar});
  CHECK(half.clean);
  CHECK(half.placement == "far");
}

}  // namespace
}  // namespace ptbench

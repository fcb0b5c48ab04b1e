#include "strategies/loss_scaling.h"

#include <catch2/catch.hpp>

#include "src/base/error.h"

namespace ptbench {
namespace {

LossScaler dynamic_scaler() { return LossScaler({.kind = LossScaling::dynamic, .value = 1}); }

TEST_CASE("without scaling the scale is one", "[strategies]") {
  const LossScaler scaler(LossScaleSpec{});
  CHECK_FALSE(scaler.active());
  CHECK(scaler.scale() == 1);
}

TEST_CASE("a dynamic scale halves when gradients overflow and counts what was skipped",
          "[strategies]") {
  LossScaler scaler = dynamic_scaler();
  REQUIRE(scaler.active());
  CHECK(scaler.scale() == 65536);
  scaler.update(false);
  scaler.update(false);
  CHECK(scaler.scale() == 16384);
  CHECK(scaler.skipped() == 2);
}

TEST_CASE("a dynamic scale doubles after 2000 finite steps in a row", "[strategies]") {
  LossScaler scaler = dynamic_scaler();
  for (int step = 0; step < 1999; ++step) scaler.update(true);
  CHECK(scaler.scale() == 65536);
  scaler.update(true);
  CHECK(scaler.scale() == 131072);
  for (int step = 0; step < 1999; ++step) scaler.update(true);
  scaler.update(false);  // begins to count anew
  scaler.update(true);
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("training that no scale can save ends", "[strategies]") {
  LossScaler scaler = dynamic_scaler();
  CHECK_THROWS_WITH(
      [&] {
        for (int step = 0; step < 100; ++step) scaler.update(false);
      }(),
      Catch::Contains("diverged"));
}

TEST_CASE("a fixed scale stays, and overflow is an error", "[strategies]") {
  LossScaler scaler({.kind = LossScaling::fixed, .value = 128});
  for (int step = 0; step < 5000; ++step) scaler.update(true);
  CHECK(scaler.scale() == 128);
  CHECK_THROWS_AS(scaler.update(false), Error);
}

}  // namespace
}  // namespace ptbench

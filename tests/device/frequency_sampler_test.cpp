#include "src/device/frequency_sampler.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

namespace ptbench {

TEST_CASE("a watched clock is one that cores have, and each slice is watched anew", "[device]") {
  FrequencySampler watch;
  int seen = 0;
  for (int slice = 0; slice < 5; ++slice) {
    watch.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::optional<double> hertz = watch.end();
    if (!hertz) continue;  // somebody else had the core at each glance
    ++seen;
    CHECK(*hertz > 0.2e9);
    CHECK(*hertz < 10e9);
    CHECK_FALSE(watch.end());  // it has been told
  }
  CHECK(seen > 0);
}

TEST_CASE("what was not watched has no clock", "[device]") {
  FrequencySampler watch;
  CHECK_FALSE(watch.end());
}

}  // namespace ptbench

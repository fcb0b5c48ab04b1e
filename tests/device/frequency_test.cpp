#include "src/device/frequency.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("the core's frequency is one that cores have", "[device]") {
  const double hertz = effective_frequency();
  CHECK(hertz > 0.2e9);
  CHECK(hertz < 10e9);
}

}  // namespace ptbench

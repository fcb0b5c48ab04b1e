#include "app/training/first_look.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("a first look is taken where steps are short on any core") {
  constexpr double kMlp = 1.43e9;  // operations of a step with a batch of 128
  constexpr double kResNet18 = 2.1e11;
  CHECK(is_short_step(kMlp, 1));
  CHECK(is_short_step(0, 1));
  CHECK_FALSE(is_short_step(kResNet18, 2));
  CHECK(is_short_step(kResNet18, 128));
}

}  // namespace ptbench

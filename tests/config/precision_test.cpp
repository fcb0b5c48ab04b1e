#include "app/config/precision.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("bf16 and tf32 are multiplied from compute capability 8.0 on", "[config]") {
  for (const char* precision : {"bf16", "tf32"}) {
    CHECK(!multiplies("7.5", precision));
    CHECK(multiplies("8.0", precision));
    CHECK(multiplies("10.0", precision));
  }
  for (const char* precision : {"fp32", "fp16"}) CHECK(multiplies("7.5", precision));
  CHECK(mixed_precision_of("7.5") == "fp16");
  CHECK(mixed_precision_of("9.0") == "bf16");
}

TEST_CASE("the loss is scaled dynamically in fp16 alone", "[config]") {
  CHECK(usual_loss_scale("fp16").kind == LossScaling::dynamic);
  for (const char* precision : {"fp32", "tf32", "bf16"})
    CHECK(usual_loss_scale(precision).kind == LossScaling::none);
}

}  // namespace ptbench

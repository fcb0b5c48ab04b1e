#include "src/measure/run_id.h"

#include <catch2/catch.hpp>
#include <vector>

namespace ptbench {

TEST_CASE("an id names the configuration", "[measure]") {
  CHECK(run_id({"mlp", "ddp", 2, 64, "fp32"}) == "mlp/ddp/n2/b64/fp32");
}

TEST_CASE("an id lists the other options that are not at their default", "[measure]") {
  const std::vector<OptionValue> others{{"lr", "0.1"}, {"data", "tests/data/digits"}};
  CHECK(run_id({"linear", "serial", 1, 32, "fp32"}, others) ==
        "linear/serial/n1/b32/fp32/lr=0.1/data=tests/data/digits");
}

}  // namespace ptbench

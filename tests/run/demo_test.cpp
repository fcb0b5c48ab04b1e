// What scripts/demo promises: a network that reads digits.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

TEST_CASE("the demo reads digits well from every seed", "[run]") {
  for (const char* seed : {"0", "1", "2", "3", "4"}) {
    const RunCommand run;
    const ProgramResult result =
        run_program({PTBENCH_SOURCE_DIR "/scripts/demo", "--seed", seed},
                    {.folder = run.path("."),
                     .environment = {"PTBENCH=" PTBENCH_EXECUTABLE,
                                     "XDG_CACHE_HOME=" + run.path("cache").string()}});
    CAPTURE(seed, result.errors);
    REQUIRE(result.exit_code == 0);
    const nlohmann::json record = run.json("results.json")["runs"][0];
    CHECK(record["samples"]["stop_reason"] == "epochs");
    CHECK(record["accuracy"]["test"].get<double>() >= 0.96);
    CHECK(std::ranges::count(run.text("results.csv"), '\n') == 2);
  }
}

}  // namespace
}  // namespace ptbench::testing

// What scripts/demo promises: a network that reads digits.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

[[nodiscard]] ProgramResult run_demo(const RunCommand& run, const std::string& seed,
                                     const std::string& sweep) {
  return run_program({PTBENCH_SOURCE_DIR "/scripts/demo", "--seed", seed},
                     {.folder = run.path("."),
                      .environment = {"PTBENCH=" PTBENCH_EXECUTABLE, "PTBENCH_DEMO_SWEEP=" + sweep,
                                      "XDG_CACHE_HOME=" + run.path("cache").string()},
                      .deadline = std::chrono::seconds(110)});
}

TEST_CASE("the demo reads digits well from every seed", "[workflows]") {
  for (const std::string seed : {"0", "1", "2", "3", "4"}) {
    const RunCommand run;
    const ProgramResult result = run_demo(run, seed, "off");
    CAPTURE(seed, result.errors);
    REQUIRE(result.exit_code == 0);
    const nlohmann::json record = run.json("results.json")["runs"][0];
    CHECK(record["samples"]["stop_reason"] == "epochs");
    CHECK(record["accuracy"]["test"].get<double>() >= 0.96);
    CHECK(std::ranges::count(run.text("results.csv"), '\n') == 2);
  }
}

TEST_CASE("the demo ends with a page of strategies and says where it is", "[workflows]") {
  const RunCommand run;
  const ProgramResult result = run_demo(run, "0", "--rounds 1 --min-time 0 --steps 3");
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("file://") && Catch::Contains("/strategies.html\n"));
  CHECK(run.json("strategies.json")["runs"].size() >= 3);
  CHECK_THAT(run.text("strategies.html"), Catch::StartsWith("<!DOCTYPE html>"));
}

}  // namespace
}  // namespace ptbench::testing

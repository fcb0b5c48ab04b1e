// How ranks communicate, as a run of them is told and as its record tells.
#include <catch2/catch.hpp>

#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

TEST_CASE("a record has the size of buckets that was used", "[run]") {
  const RunCommand run;
  const auto bucket_bytes_with = [&](const std::string& mib) {
    const ProgramResult result =
        run({"-w",        "mlp",       "-b",          "16",      "-s", "ddp",      "-n",
             "2",         "--threads", "1",           "--steps", "3",  "--verify", "off",
             "--overlap", "off",       "--bucket-mb", mib,       "-o", "r.json"});
    CAPTURE(result.errors);
    REQUIRE(result.exit_code == 0);
    return run.json("r.json")["runs"][0]["strategy"]["bucket_bytes"].get<double>();
  };
  CHECK(bucket_bytes_with("1") == 1 << 20U);
  constexpr double kGradients = 4.0 * 1024 * (784 + 1024);  // at least
  CHECK(bucket_bytes_with("0.001") >= kGradients / 128);
}

TEST_CASE("a communicator that this build lacks is an absent capability", "[run]") {
  const RunCommand run;
  for (const char* name : {"mpi", "gloo"}) {
    const ProgramResult result = run({"-s", "ddp", "-n", "2", "--communicator", name});
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors, Contains(std::string("no ") + name + " communicator") &&
                                  Contains("ptbench: remedy: use --communicator shm"));
    CHECK(run_program({PTBENCH_EXECUTABLE, "comm", "--communicator", name}).exit_code == 5);
  }
  CHECK(run({"-s", "ddp", "-n", "2", "--communicator", "tcp"}).exit_code == 1);
}

}  // namespace
}  // namespace ptbench::testing

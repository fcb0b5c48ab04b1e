// How ranks communicate, as a run of them is told and as its record tells.
#include <catch2/catch.hpp>

#include "tests/run/command.h"
#include "tests/support/built_modules.h"
#include "tests/support/skip.h"

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

TEST_CASE("ranks that MPI's launcher did not start do not begin it", "[run]") {
  if (!is_built("mpi")) skip("no module of MPI was built");
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "linear", "-s", "ddp", "-n", "2", "--communicator", "mpi"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("Open MPI's launcher did not start this rank") &&
                                Contains("mpirun -n 2 ptbench run"));
}

TEST_CASE("ranks that send their values by gloo compute what serial training does", "[run]") {
  if (!is_built("gloo")) skip("no module of gloo was built");
  const RunCommand run;
  std::vector<std::string> arguments{"-w", "linear", "-b", "8", "-s", "ddp", "-n", "2"};
  arguments.insert(arguments.end(), {"--steps", "5", "--threads", "1", "-o", "r.json"});
  arguments.insert(arguments.end(), {"--communicator", "gloo", "--interface", "lo"});
  arguments.insert(arguments.end(), {"--reduce-precision", "bf16"});
  const auto record = record_of(run, run(arguments));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["communicator"] == "gloo");
  CHECK(record["strategy"]["sends_values"] == true);
  CHECK_THAT(record["id"].get<std::string>(), Contains("/communicator=gloo/interface=lo"));
}

TEST_CASE("an engine whose module is not there is an absent capability", "[run]") {
  const TemporaryDirectory folder;
  const std::string program = (folder.path() / "ptbench").string();
  std::filesystem::copy_file(PTBENCH_EXECUTABLE, program);
  for (const char* command : {"run", "comm"}) {
    std::vector<std::string> words{program, command, "-n", "2", "--communicator", "gloo"};
    if (words[1] == "run") words.insert(words.end(), {"-s", "ddp"});
    const ProgramResult result = run_program(words);
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors,
               Contains("--communicator gloo: there is no module ") &&
                   Contains("libptbench_gloo.so") &&
                   Contains("ptbench: remedy: use --communicator shm, or install libgloo-dev"));
  }
}

TEST_CASE("a network interface is one of this host's, and of use", "[run]") {
  const RunCommand run;
  const ProgramResult idle = run({"-s", "ddp", "-n", "2", "--interface", "lo"});
  CHECK(idle.exit_code == 1);
  CHECK_THAT(idle.errors,
             Contains("--interface lo: communicator auto has no network interface to choose"));
  if (!is_built("gloo")) skip("no module of gloo was built");
  const ProgramResult absent = run_program({PTBENCH_EXECUTABLE, "comm", "-n", "2", "--communicator",
                                            "shm,gloo", "--interface", "nowhere0"});
  CHECK(absent.exit_code == 1);
  CHECK_THAT(absent.errors, Contains("--interface nowhere0: this host has no such network") &&
                                Contains("ptbench: remedy: use one of these: lo"));
}

}  // namespace
}  // namespace ptbench::testing

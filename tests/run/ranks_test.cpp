// Runs of several ranks from outside: each a process, checked against one replica.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "src/device/topology.h"
#include "tests/run/command.h"
#include "tests/support/watched.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// 40 steps on real data. Separate runs may choose different kernels, whose rounding differs: on
/// digits that difference stays near 1e-7, on random labels it grows past 1e-5 within 20 steps.
std::vector<std::string> on_digits(const std::vector<std::string>& more) {
  const std::string digits = PTBENCH_TEST_DATA "/digits";
  std::vector<std::string> arguments{"-w", "mlp",      "--data", digits,      "--steps",
                                     "30", "--warmup", "10",     "--threads", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), {"-o", "r.json"});
  return arguments;
}

/// Whether `record`, of one thread a rank, is warned that ranks share cores exactly where they do.
bool is_warned_of_shared_cores(const nlohmann::json& record) {
  bool warned = false;
  for (const auto& warning : record["warnings"])
    warned = warned || warning["code"] == "oversubscribed-cores";
  const auto ranks = record["strategy"]["world_size"].get<std::size_t>();
  return warned == (ranks > discover_topology().cores.size());
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t step = 0; step < a.size(); ++step)
    CHECK(std::abs(a[step] - b[step]) <= 1e-5 * std::max(1.0, std::abs(b[step])));
}

}  // namespace

TEST_CASE("data-parallel ranks compute what serial training does on the global batch",
          "[run][long]") {
  const RunCommand run;
  const auto with = [&](const std::vector<std::string>& more) { return run(on_digits(more)); };
  (void)record_of(run, with({"-b", "24", "--loss-log", "serial.csv"}));
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"}) {
    CAPTURE(strategy);
    const auto record =
        record_of(run, with({"-s", strategy, "-n", "2", "-b", "12", "--loss-log", "ranks.csv"}));
    CHECK(record["status"] == "ok");
    CHECK(record["verification"]["status"] == "passed");
    CHECK(record["strategy"]["world_size"] == 2);
    CHECK(record["strategy"]["global_batch"] == 24);
    CHECK(record["strategy"]["communicator"] == "shm");
    CHECK(record["strategy"]["devices"].size() == 2);
    check_close(losses_of(run.text("ranks.csv")), losses_of(run.text("serial.csv")));
  }
  const auto record =
      record_of(run, with({"-s", "ddp", "-n", "3", "-b", "4", "--accumulate", "2", "--bucket-mb",
                           "0.25", "--overlap", "on", "--loss-log", "ranks.csv"}));
  CHECK(record["verification"]["status"] == "passed");
  check_close(losses_of(run.text("ranks.csv")), losses_of(run.text("serial.csv")));
}

TEST_CASE("phases of several ranks have communication", "[run][long]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "mlp", "-b", "8", "-s", "ddp", "-n", "2", "--steps",
                                          "10", "--threads", "1", "-o", "r.json"}));
  CHECK(record["phases_seconds"]["communication"].get<double>() > 0);
  CHECK(record["id"] == "mlp/ddp/n2/b8/fp32/threads=1");
}

TEST_CASE("a record tells what each rank did and what was chosen", "[run]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "mlp", "-b", "8", "-s", "ddp", "-n", "2", "--steps",
                                          "10", "--threads", "1", "-o", "r.json"}));
  REQUIRE(record["ranks"].size() == 2);
  double private_bytes = 0;
  for (const auto& rank : record["ranks"]) {
    CHECK(rank["compute_seconds"].get<double>() > 0);
    CHECK(rank["wait_seconds"].get<double>() >= 0);
    CHECK_FALSE(rank["host"].get<std::string>().empty());
    private_bytes += rank["peak_memory_bytes"].get<double>();
  }
  if (!kIsWatched)  // with what they share, once
    CHECK(record["memory"]["peak_bytes"].get<double>() > private_bytes);
  CHECK(record["strategy"]["bucket_bytes"].get<double>() >= 256 << 10U);
  CHECK(record["strategy"]["overlap"].is_boolean());
}

TEST_CASE("what ranks choose of communication is kept, and used again", "[run]") {
  const RunCommand run;
  const std::vector<std::string> arguments{
      "-w", "mlp",       "-b", "8",        "-s",  "ddp",    "-n",        "2",  "--steps",
      "3",  "--threads", "1",  "--verify", "off", "--plan", "plan.json", "-o", "r.json"};
  const auto first = record_of(run, run(arguments));
  const std::string plan = run.text("plan.json");
  CHECK_THAT(plan, Contains("overlap of mlp/ddp/n2/b8") && Contains("bucket bytes of mlp/ddp/n2"));
  const auto second = record_of(run, run(arguments));
  CHECK(run.text("plan.json") == plan);
  CHECK(second["strategy"]["overlap"] == first["strategy"]["overlap"]);
  CHECK(second["strategy"]["bucket_bytes"] == first["strategy"]["bucket_bytes"]);
}

TEST_CASE("replicas of one process compute what serial training does", "[run]") {
  const RunCommand run;
  const auto with = [&](const std::vector<std::string>& more) { return run(on_digits(more)); };
  (void)record_of(run, with({"-b", "24", "--loss-log", "serial.csv"}));
  const auto record =
      record_of(run, with({"-s", "dp", "-n", "2", "-b", "12", "--loss-log", "replicas.csv"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["ranks"].size() == 2);
  for (const char* phase : {"scatter", "replicate", "gather", "reduce"})
    CHECK(record["phases_seconds"][phase].get<double>() > 0);
  check_close(losses_of(run.text("replicas.csv")), losses_of(run.text("serial.csv")));
}

TEST_CASE("unequal shares compute what serial training does", "[run][long]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "mlp", "-s", "ddp", "-n", "2", "--shares", "20,4",
                                          "--steps", "5", "--threads", "1", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["global_batch"] == 24);
  CHECK(record["id"] == "mlp/ddp/n2/b20/fp32/threads=1/shares=20,4");
}

TEST_CASE("a run of several ranks is repeated in fresh processes too", "[run]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "linear", "-s", "ddp", "-n", "2", "--repeats", "2",
                                          "--max-time", "4", "--threads", "1", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK_FALSE(record["samples"]["repetitions"].empty());
}

TEST_CASE("mistakes with several ranks", "[run]") {
  const RunCommand run;
  struct Mistake {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const Mistake& mistake : std::vector<Mistake>{
           {{"-n", "2"}, "strategy 'serial' is one replica in one process"},
           {{"-s", "ddp", "-n", "2", "--global-batch", "33"}, "the nearest possible one is 34"},
           {{"-w", "linear", "-s", "ddp", "-n", "4", "-b", "500", "--samples", "100"},
            "global batch"},
           {{"--overlap", "on"}, "reduces no gradients in buckets"},
           {{"-s", "ddp", "--bucket-mb", "0"}, "--bucket-mb"},
           {{"-s", "ddp", "--reduce-precision", "fp16"}, "--reduce-precision"},
       }) {
    std::vector<std::string> arguments = mistake.arguments;
    arguments.insert(arguments.end(), {"--steps", "3"});
    const ProgramResult result = run(arguments);
    CAPTURE(mistake.says, result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(mistake.says));
  }
}

TEST_CASE("more ranks than cores train and are warned of", "[run]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "linear", "-s", "ddp", "-n", "5", "--steps", "5",
                                          "--warmup", "1", "--threads", "1", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(is_warned_of_shared_cores(record));
}

TEST_CASE("a sweep's rows of more ranks than cores are warned of", "[run]") {
  const RunCommand run;
  const ProgramResult result = run_program(
      {PTBENCH_EXECUTABLE, "sweep", "-w", "linear", "-s", "ddp", "-n", "1,5", "--threads", "1",
       "--rounds", "1", "--steps", "5", "--warmup", "1", "-o", run.path("r.json").string()},
      {.folder = run.path("."), .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()}});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const auto runs = run.json("r.json")["runs"];
  REQUIRE(runs.size() >= 3);  // serial training on all cores may follow
  for (std::size_t row = 0; row < 3; ++row) CHECK(is_warned_of_shared_cores(runs[row]));
}

TEST_CASE("a run whose rank is slow on purpose tells which option to leave out", "[run]") {
  const RunCommand run;
  const auto record = record_of(
      run, run({"-w",          "mlp",  "-b",        "8",   "-s",       "ddp",   "-n",        "2",
                "--slow-rank", "1:10", "--steps",   "3",   "--warmup", "1",     "--threads", "1",
                "--verify",    "off",  "--overlap", "off", "-o",       "r.json"}));
  std::string remedy;
  for (const auto& warning : record["warnings"])
    if (warning["code"] == "straggler") {
      CHECK_THAT(warning["message"].get<std::string>(), Contains("rank 1 computes"));
      remedy = warning["remedy"];
    }
  CHECK_THAT(remedy, Contains("leave out --slow-rank"));
}

}  // namespace ptbench::testing

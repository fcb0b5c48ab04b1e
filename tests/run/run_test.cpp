// `ptbench run` from outside: what it writes, and that it means it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/run/command.h"
#include "tests/support/skip.h"
#include "tests/support/watched.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

const std::string kDigitsData = PTBENCH_TEST_DATA "/digits";

TEST_CASE("a run writes a valid record, a CSV row and a summary", "[run]") {
  const RunCommand run;
  const std::string workload = GENERATE("linear", "mlp");
  const ProgramResult result =
      run({"-w", workload, "--steps", "12", "-o", "r.json", "-o", "r.csv"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("throughput"));
  CHECK(run.partial_files() == 0);
  const nlohmann::json file = run.json("r.json");
  const nlohmann::json& record = file["runs"][0];
  CHECK(record["status"] == "ok");
  CHECK(record["workload"]["name"] == workload);
  CHECK(record["samples"]["stop_reason"] == "steps");
  CHECK(record["samples"]["warmup_discarded"] == 10);
  const double seconds = record["step_seconds"]["median"];
  CHECK(record["throughput"]["value"].get<double>() ==
        Approx(record["strategy"]["global_batch"].get<double>() /
               record["step_seconds"]["mean"].get<double>()));
  CHECK(record["compute"]["utilization"].get<double>() > 0);
  CHECK(record["accuracy"].is_null());
  double phases = 0;
  for (const char* phase : {"data", "forward", "backward", "optimizer", "other"})
    phases += record["phases_seconds"][phase].get<double>();
  CHECK(phases == Approx(seconds));
  const std::string csv = run.text("r.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
}

TEST_CASE("JSON takes standard output, and the summary moves out of its way", "[run]") {
  const RunCommand run;
  for (const char* option : {"--json", "--output=-"}) {
    const ProgramResult result = run({"-w", "linear", "--steps", "5", option});
    REQUIRE(result.exit_code == 0);
    CHECK(parse_json(result.output)["runs"].size() == 1);
    CHECK_THAT(result.errors, Contains("throughput"));
  }
}

TEST_CASE("losses repeat bit by bit with the same seed, threads and plan", "[run][long]") {
  const RunCommand run;
  for (const char* log : {"a.csv", "b.csv", "c.csv"}) {
    const ProgramResult result = run({"-w", "mlp", "-b", "16", "--steps", "20", "--warmup", "0",
                                      "--plan", "plan.json", "--loss-log", log});
    CAPTURE(result.errors);
    REQUIRE(result.exit_code == 0);
  }
  CHECK(losses_of(run.text("a.csv")).size() == 20);
  CHECK(run.text("a.csv") == run.text("b.csv"));
  CHECK(run.text("a.csv") == run.text("c.csv"));
}

TEST_CASE("another seed trains otherwise", "[run]") {
  const RunCommand run;
  for (const char* seed : {"1", "2"})
    REQUIRE(run({"-w", "linear", "--steps", "5", "--seed", seed, "--loss-log",
                 std::string(seed) + ".csv"})
                .exit_code == 0);
  CHECK(run.text("1.csv") != run.text("2.csv"));
}

TEST_CASE("weights that one run saved start another", "[run]") {
  const RunCommand run;
  const auto train = [&](const std::string& seed, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "-w",        "mlp", "-b",     "8",         "--steps", "3",         "--warmup", "0",
        "--shuffle", "off", "--data", kDigitsData, "--plan",  "plan.json", "--seed",   seed};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).exit_code;
  };
  REQUIRE(train("1", {"--save-initial-weights", "start.safetensors", "--loss-log", "a.csv"}) == 0);
  REQUIRE(train("2", {"--initial-weights", "start.safetensors", "--save-final-weights",
                      "end.safetensors", "--loss-log", "b.csv"}) == 0);
  CHECK(run.text("a.csv") == run.text("b.csv"));
  CHECK(run.text("start.safetensors") != run.text("end.safetensors"));
  const ProgramResult other =
      run({"-w", "linear", "--steps", "3", "--initial-weights", "start.safetensors"});
  CHECK(other.exit_code == 1);
  CHECK_THAT(other.errors, Contains("start.safetensors") && Contains("fc"));
}

TEST_CASE("training on digits learns them", "[run]") {
  const RunCommand run;
  const ProgramResult result = run({"-w", "mlp", "--data", kDigitsData, "-b", "32", "--lr", "0.05",
                                    "--epochs", "6", "-o", "r.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["data"]["samples"] == 1437);
  CHECK(record["data"]["samples_left_out"] == 1437 % 32);
  CHECK(record["workload"]["input_shape"] == nlohmann::json{64});
  CHECK(record["samples"]["stop_reason"] == "epochs");
  CHECK(record["accuracy"]["train"].get<double>() > 0.97);
  CHECK(record["accuracy"]["test"].get<double>() > 0.87);
}

TEST_CASE("training that diverges is a failed record, not a fast one", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "mlp", "-b", "8", "--lr", "1e6", "--steps", "50", "-o", "r.json"});
  CHECK(result.exit_code == 2);
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["status"] == "failed");
  CHECK_THAT(record["reason"].get<std::string>(), Contains("loss of step"));
  CHECK(record["throughput"]["value"].is_null());
}

TEST_CASE("a plan file is written once and then obeyed", "[run]") {
  const RunCommand run;
  const std::vector<std::string> arguments{"-w", "linear", "--threads", "1",     "--steps",
                                           "3",  "--plan", "plan.json", "--json"};
  const auto hash = [](const ProgramResult& result) {
    return parse_json(result.output)["runs"][0]["strategy"]["plan_hash"];
  };
  const auto first = hash(run(arguments));
  const std::string plan = run.text("plan.json");
  CHECK(hash(run(arguments)) == first);
  CHECK(run.text("plan.json") == plan);
  // Another of the candidates is another plan.
  nlohmann::json other = run.json("plan.json");
  other["choices"]["linear b32 10->2 first"] = "onednn io 1x1";
  run.write("plan.json", other.dump());
  CHECK(hash(run(arguments)) != first);
}

TEST_CASE("a first look is one repetition, and says so", "[run]") {
  const RunCommand run;
  const ProgramResult result = run(
      {"-w", "linear", "--threads", "1", "--quick", "-o", "r.json", "-o", "r.csv", "-o", "r.md"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("not reliable: one repetition"));
  CHECK_THAT(result.output, Contains("a first look: one repetition"));
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["samples"]["quick"] == true);
  CHECK(record["samples"]["repetitions"].size() == 1);
  CHECK(std::ranges::any_of(record["warnings"], [](const nlohmann::json& warning) {
    return warning["code"] == "quick";
  }));
  CHECK_THAT(run.text("r.csv"), Contains(",samples.quick,"));
  CHECK_THAT(run.text("r.md"), Contains("not reliable: one repetition"));
}

TEST_CASE("a first look on several ranks is verified and marked too", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "linear", "-s", "ddp", "-n", "2", "--threads", "1", "--quick", "-o", "r.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["samples"]["quick"] == true);
  CHECK(record["verification"]["status"] == "passed");
}

TEST_CASE("a first look chooses and verifies as far as its time allows", "[run]") {
  require_bf16();  // of amp, which is verified unasked
  const RunCommand run;
  // A step of resnet18 takes many seconds under a sanitizer.
  const std::string workload = kIsWatched ? PTBENCH_SOURCE_DIR "/models/cnn.json" : "resnet18";
  for (int look = 0; look < 2; ++look) {
    const nlohmann::json record =
        record_of(run, run({"-w", workload, "-s", "amp", "-b", "8", "--quick", "-o", "r.json"}));
    // How many operators there was time to choose depends on the machine.
    CHECK(record["status"] == "ok");
    const std::string verified = record["verification"]["status"];
    CHECK((verified == "passed" || verified == "weak"));
  }
}

TEST_CASE("a first look has its own length", "[run]") {
  const RunCommand run;
  for (const char* option : {"--steps=5", "--epochs=1", "--repeats=2", "--target-noise=1%",
                             "--min-time=1", "--max-time=5"}) {
    const ProgramResult result = run({"-w", "linear", "--quick", option});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains("--quick") && Contains("cannot be combined"));
  }
}

}  // namespace
}  // namespace ptbench::testing

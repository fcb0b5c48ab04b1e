// Verification from outside: what does not compute what serial training does is not timed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/device/isa.h"
#include "tests/run/command.h"
#include "tests/support/skip.h"
#include "workloads/weights_file.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

const std::string kModel = R"({"schema": "ptbench.model/1", "name": "cancelling", "input": [16],
  "classes": 10, "batch": 8, "samples": 64,
  "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
  "layers": [{"name": "fc1", "type": "linear", "outputs": 32},
             {"name": "relu1", "type": "relu"},
             {"name": "fc2", "type": "linear", "outputs": 10}]})";

/// Trains `m.json` with one thread a rank.
ProgramResult train(const RunCommand& run, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"-w", "m.json", "--threads", "1", "-o", "r.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

/// Writes the model, and weights that a narrow type does not hold: what all classes have in common
/// cancels in their softmax, yet is so large that bf16 rounds away what they have not. In fp32 the
/// loss stays near that of chance.
void write_ill_conditioned(const RunCommand& run, float in_common = 1e6F) {
  run.write("m.json", kModel);
  REQUIRE(train(run, {"--steps", "1", "--save-initial-weights", "drawn.safetensors"}).exit_code ==
          0);
  std::vector<NamedTensor> tensors = read_weights(run.path("drawn.safetensors").string());
  const auto last = std::ranges::find(tensors, "fc2.weight", &NamedTensor::name);
  REQUIRE(last != tensors.end());
  for (float& value : last->values) value += in_common;
  run.write("w.safetensors", serialize_weights(tensors));
}

void check_not_timed(const nlohmann::json& record) {
  CHECK(record["throughput"]["value"].is_null());
  CHECK(record["step_seconds"]["median"].is_null());
  const auto& count = record["samples"]["count"];  // of a session of processes it is a number
  CHECK((count.is_null() || count == 0));
  CHECK(record["samples"]["repetitions"].empty());
  CHECK(record["phases_seconds"]["forward"].is_null());
  CHECK(record["loss"]["last"].is_null());
}

}  // namespace

TEST_CASE("what does not match serial training fails, and no throughput is told", "[run]") {
  require_bf16();
  const RunCommand run;
  write_ill_conditioned(run);
  for (const std::vector<std::string>& several : std::vector<std::vector<std::string>>{
           {"--steps", "3"}, {"--verify", "only"}, {"--repeats", "2", "--max-time", "4"}}) {
    std::vector<std::string> arguments = several;
    arguments.insert(arguments.end(),
                     {"--precision", "bf16", "--initial-weights", "w.safetensors"});
    const ProgramResult result = train(run, arguments);
    CAPTURE(several, result.output, result.errors);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("does not match serial training"));
    CHECK_THAT(result.output, Contains("verified    failed"));
    CHECK_THAT(result.output, !Contains("samples/s") && !Contains("step time"));
    const auto record = run.json("r.json")["runs"][0];
    CHECK(record["status"] == "failed");
    const auto& verification = record["verification"];
    CHECK(verification["status"] == "failed");
    CHECK(verification["max_relative_error"] > verification["tolerance"]);
    const auto reason = verification["reason"].get<std::string>();
    CHECK_THAT(reason, Contains("the loss of step") && !Contains("diverges"));
    CHECK(record["reason"] == "does not match serial training: " + reason);
    check_not_timed(record);
  }
}

TEST_CASE("the same training unverified is timed, since it does not diverge", "[run]") {
  require_bf16();
  const RunCommand run;
  write_ill_conditioned(run);
  const ProgramResult result =
      train(run, {"--precision", "bf16", "--steps", "3", "--initial-weights", "w.safetensors",
                  "--verify", "off"});
  CAPTURE(result.output, result.errors);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("samples/s"));
}

TEST_CASE("what rounding alone drives apart within some steps is verified", "[run]") {
  // Its logits are rounded to some 1e-6, by which losses soon differ beyond what single steps may.
  const RunCommand run;
  write_ill_conditioned(run, 10);
  for (const std::vector<std::string>& several : std::vector<std::vector<std::string>>{
           {"--accumulate", "4"}, {"-s", "ddp", "-n", "2"}, {"-s", "dp", "-n", "2"}}) {
    std::vector<std::string> arguments = several;
    arguments.insert(arguments.end(), {"--steps", "40", "--initial-weights", "w.safetensors"});
    const ProgramResult result = train(run, arguments);
    CAPTURE(several, result.output, result.errors);
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.output, Contains("verified    passed, 5 steps"));
  }
}

TEST_CASE("ranks with unequal shares end verification with equal parameters", "[run][long]") {
  const RunCommand run;
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"}) {
    const ProgramResult result = run({"-w", "mlp", "-s", strategy, "-n", "2", "--shares", "13,6",
                                      "--threads", "2", "--verify", "only", "-o", "r.json"});
    CAPTURE(strategy, result.output, result.errors);
    CHECK(result.exit_code == 0);
    CHECK(run.json("r.json")["runs"][0]["verification"]["status"] == "passed");
  }
}

}  // namespace ptbench::testing

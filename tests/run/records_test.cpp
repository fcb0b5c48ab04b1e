// What records say of the work, of memory and of the machine's peak.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/device/isa.h"
#include "tests/run/command.h"
#include "tests/support/skip.h"
#include "tests/support/watched.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// A model of rows whose activations and weights are a few megabytes.
std::string model_file(const std::string& name, const std::string& optimizer, int width = 512) {
  return R"({"schema": "ptbench.model/1", "name": ")" + name + R"(", "input": [256], "classes": 10,
    "batch": 64, "samples": 640, "optimizer": )" +
         optimizer + R"(, "layers": [
      {"name": "fc1", "type": "linear", "outputs": )" +
         std::to_string(width) + R"(},
      {"name": "relu1", "type": "relu"},
      {"name": "fc2", "type": "linear", "outputs": 10}]})";
}

constexpr const char* kMomentum = R"({"kind": "sgd", "lr": 0.01, "momentum": 0.9})";
constexpr const char* kPlain = R"({"kind": "sgd", "lr": 0.01})";

nlohmann::json measured(const RunCommand& run, std::vector<std::string> arguments,
                        const std::string& file = "r.json") {
  arguments.insert(arguments.end(), {"-o", file});
  const ProgramResult result = run(std::move(arguments));
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return run.json(file)["runs"][0];
}

ProgramResult compare(const RunCommand& run, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{PTBENCH_EXECUTABLE, "compare"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(all, {.folder = run.path(""),
                           .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()}});
}

/// Convolutions whose activations take tens of megabytes.
constexpr const char* kImages =
    R"({"schema": "ptbench.model/1", "name": "images", "input": [16, 32, 32], "classes": 10,
    "batch": 32, "samples": 128, "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9}, "layers": [
      {"name": "conv1", "type": "conv2d", "outputs": 64, "kernel": 3, "padding": 1},
      {"name": "relu1", "type": "relu"},
      {"name": "conv2", "type": "conv2d", "outputs": 64, "kernel": 3, "padding": 1},
      {"name": "relu2", "type": "relu"},
      {"name": "pool", "type": "global_average_pool"},
      {"name": "rows", "type": "flatten"},
      {"name": "fc", "type": "linear", "outputs": 10}]})";

/// Peak and prediction of a run with repetitions. (Of large matrix products it would be less exact:
/// oneDNN packs their operands in memory of its own.) Pages of libraries count from when the kernel
/// maps them, which may be before or after the prediction.
void check_prediction(const std::vector<std::string>& options) {
  if (kIsWatched) skip("sanitizers take memory of their own");
  const RunCommand run;
  run.write("m.json", kImages);
  std::vector<std::string> arguments{"-w",         "m.json", "--threads",  "1",
                                     "--repeats",  "2",      "--max-time", "1",
                                     "--min-time", "0.2",    "--verify",   "on"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const auto record = measured(run, arguments);
  CHECK(record["verification"]["status"] == "passed");
  const auto& memory = record["memory"];
  const double predicted =
      memory["before_bytes"].get<double>() + memory["predicted_bytes"].get<double>();
  CAPTURE(options, memory.dump());
  constexpr double kLibraryPages = 8 << 20U;
  CHECK(memory["peak_bytes"].get<double>() == Approx(predicted).epsilon(0.1).margin(kLibraryPages));
}

}  // namespace

TEST_CASE("memory is within 10 % of what was predicted, without verification", "[run]") {
  check_prediction({"-s", "grad-accum"});
  check_prediction({"-s", "dp", "-n", "2"});
  check_prediction({"-s", "ddp", "-n", "2"});
}

TEST_CASE("amp takes the memory that was predicted, without verification", "[run]") {
  require_bf16();
  check_prediction({"-s", "amp"});
}

TEST_CASE("a record names its engine and the digest of its work", "[run]") {
  const RunCommand run;
  run.write("a.json", model_file("mine", kMomentum));
  run.write("b.json", model_file("yours", kPlain));
  const auto a = measured(run, {"-w", "a.json", "--steps", "2"});
  const auto b = measured(run, {"-w", "b.json", "--steps", "2"});
  CHECK(a["engine"]["name"] == "native");
  CHECK(a["engine"]["command"].is_null());
  CHECK(a["workload"]["digest"] == b["workload"]["digest"]);
  run.write("c.json", model_file("mine", kMomentum, 256));
  CHECK(measured(run, {"-w", "c.json", "--steps", "2"})["workload"]["digest"] !=
        a["workload"]["digest"]);
  CHECK(a["compute"]["executed_flops_per_step"] == a["compute"]["flops_per_step"]);
  CHECK(a["compute"]["utilization"] == a["compute"]["effective_utilization"]);
}

TEST_CASE("models of one name with other optimizers or layers get no verdict", "[run]") {
  const RunCommand run;
  run.write("m.json", model_file("mine", kMomentum));
  const auto base = measured(run, {"-w", "m.json", "--steps", "3"}, "base.json");
  const auto check_other = [&](const std::string& model, const std::string& difference) {
    run.write("m.json", model);
    const auto fresh = measured(run, {"-w", "m.json", "--steps", "3"}, "new.json");
    REQUIRE(fresh["id"] == base["id"]);
    const ProgramResult result = compare(run, {"base.json", "new.json", "--json"});
    CAPTURE(result.output, result.errors);
    CHECK(result.exit_code == 0);
    const auto verdict = nlohmann::json::parse(result.output)["runs"][0];
    CHECK(verdict["verdict"] == "incomparable");
    CHECK_THAT(verdict["reason"].get<std::string>(), Contains("other work: " + difference));
    CHECK(compare(run, {"base.json", "new.json", "--strict", "--ignore-environment"}).exit_code ==
          4);
  };
  check_other(model_file("mine", kPlain), "optimizer.momentum 0.9 / 0");
  check_other(model_file("mine", kMomentum, 256), "workload.digest ");
}

TEST_CASE("a model file that takes a name of the catalog is refused", "[run]") {
  const RunCommand run;
  run.write("m.json", model_file("mlp", kMomentum));
  const ProgramResult result = run({"-w", "m.json", "--steps", "2"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("the model in 'm.json' is called 'mlp'") &&
                                Contains("remedy: give its key \"name\" another value"));
}

TEST_CASE("a lower instruction set is oneDNN's too", "[run]") {
  if (detect_isa() != Isa::x86_64_v4) skip("this CPU has no better instructions to leave out");
  const auto instructions_with = [](const std::string& isa) {
    const ProgramResult result = run_program({PTBENCH_EXECUTABLE, "doctor", "--json"},
                                             {.environment = {"PTBENCH_ISA=" + isa}});
    REQUIRE(result.exit_code == 0);
    const auto groups = nlohmann::json::parse(result.output);
    for (const auto& finding : groups.at("processor"))
      if (finding.at("name") == "onednn_instructions")
        return finding.at("value").get<std::string>();
    return std::string();
  };
  CHECK(instructions_with("x86-64") == "sse41");
  CHECK(instructions_with("x86-64-v3") == "avx2");
  CHECK_THAT(instructions_with("x86-64-v4"), Catch::StartsWith("avx512_core"));

  const RunCommand run;
  const TemporaryDirectory folder;
  const std::string output = (folder.path() / "r.json").string();
  const ProgramResult lowered = run_program(
      {PTBENCH_EXECUTABLE, "run", "-w", "mlp", "--steps", "3", "-s", "amp"},
      {.environment = {"PTBENCH_ISA=x86-64", "XDG_CACHE_HOME=" + run.path("cache").string()}});
  CHECK(lowered.exit_code == 5);  // bf16 products are instructions of x86-64-v4
  const ProgramResult single = run_program(
      {PTBENCH_EXECUTABLE, "run", "-w", "mlp", "--steps", "3", "-o", output},
      {.environment = {"PTBENCH_ISA=x86-64", "XDG_CACHE_HOME=" + run.path("cache").string()}});
  CAPTURE(single.errors);
  CHECK(single.exit_code == 0);
}

}  // namespace ptbench::testing

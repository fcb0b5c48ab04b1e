// Runs on a CUDA device from outside: what is trained is what the CPU trains, and an emulated
// device has no speed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cuda/device.h"
#include "tests/cuda/models.h"
#include "tests/cuda/run_record.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

const std::string kDigits = PTBENCH_TEST_DATA "/digits";

bool tells_of_emulation(const nlohmann::json& record) {
  return std::ranges::any_of(
      record["warnings"], [](const auto& warning) { return warning["code"] == "emulated-device"; });
}

/// Every number below a key that names a duration or a rate.
std::size_t count_durations(const nlohmann::json& value, bool is_duration = false) {
  if (value.is_number()) return is_duration ? 1 : 0;
  if (!value.is_structured()) return 0;
  std::size_t count = 0;
  for (const auto& [key, part] : value.items()) {
    const std::string name = value.is_object() ? key : "";
    const bool inner = is_duration || name.find("seconds") != std::string::npos ||
                       name == "throughput" || name.starts_with("flops_per_second") ||
                       name.find("utilization") != std::string::npos;
    count += count_durations(part, inner);
  }
  return count;
}

/// That both trained alike, by their losses.
void check_same_losses(const std::string& one, const std::string& other) {
  std::istringstream left(one);
  std::istringstream right(other);
  std::string a;
  std::string b;
  int steps = 0;
  std::getline(left, a);
  std::getline(right, b);
  CHECK(a == b);
  while (std::getline(left, a) && std::getline(right, b)) {
    const double loss = std::stod(a.substr(a.find(',') + 1));
    const double expected = std::stod(b.substr(b.find(',') + 1));
    CAPTURE(a, b);
    CHECK(std::abs(loss - expected) <= 1e-4 * std::max(1.0, expected));
    ++steps;
  }
  CHECK(steps >= 3);
}

const Words kFewSteps{"--steps", "3"};
/// For models whose steps take long.
const Words kOneStep{"--warmup", "0", "--steps", "1"};

/// That it trains as the CPU does, and what its record says.
void check_run(const RunCommand& run, const Words& words, const Words& length = kFewSteps) {
  CAPTURE(words);
  const auto record = record_of(run, words + Words{"--device", "cuda:0"} + length);
  CHECK(record["status"] == "ok");
  CHECK(record["strategy"]["devices"] == nlohmann::json{"cuda:0"});
  CHECK(record["ranks"][0]["device"] == "cuda:0");
  CHECK(record["id"].get<std::string>().find("/device=cuda:0") != std::string::npos);
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["verification"]["steps"] == 5);
  const double predicted = record["memory"]["predicted_bytes"];
  const double peak = record["memory"]["peak_bytes"];
  CHECK(std::abs(peak - predicted) <= 0.02 * predicted + 8192);
  if (tells_of_emulation(record)) CHECK(count_durations(record) == 0);
}

TEST_CASE("small models train on a CUDA device as on the CPU", "[cuda][every_access]") {
  require_cuda_device();
  const RunCommand run;
  run.write("m.json", R"({"schema": "ptbench.model/1", "name": "small", "input": [16],
    "classes": 10, "batch": 8, "samples": 64,
    "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [{"name": "fc1", "type": "linear", "outputs": 32},
               {"name": "relu1", "type": "relu"},
               {"name": "fc2", "type": "linear", "outputs": 10}]})");
  check_run(run, {"-w", "linear"});
  check_run(run, {"-w", "linear", "--optimizer", "adamw"});
  check_run(run, {"-w", "linear", "--optimizer", "sgd", "--momentum", "0.9"});
  check_run(run, {"-w", "linear", "--accumulate", "3"});
  check_run(run, {"-w", "m.json"});
  check_run(run, {"-w", "m.json", "--loss-scale", "1024"});
}

TEST_CASE(
    "models of other layers, and in other precisions, train on a CUDA device as the CPU does in "
    "fp32",
    "[cuda]") {
  require_cuda_device();
  const RunCommand run;
  run.write("m.json", R"({"schema": "ptbench.model/1", "name": "small", "input": [16],
    "classes": 10, "batch": 8, "samples": 64,
    "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [{"name": "fc1", "type": "linear", "outputs": 32},
               {"name": "gelu1", "type": "gelu"},
               {"name": "fc2", "type": "linear", "outputs": 32},
               {"name": "sum", "type": "add", "inputs": ["fc2", "gelu1"]},
               {"name": "fc3", "type": "linear", "outputs": 10}]})");
  check_run(run, {"-w", "m.json"});
  for (const std::string precision : {"bf16", "fp16", "tf32"}) {
    check_run(run, {"-w", "linear", "--precision", precision});
    check_run(run, {"-w", "m.json", "--precision", precision});
  }
  check_run(run, {"-w", "m.json", "--precision", "bf16", "--accumulate", "3"});
  check_run(run, {"-w", "m.json", "-s", "amp", "--loss-scale", "dynamic"});
  check_run(run, {"-w", "m.json", "-s", "amp", "--precision", "fp16"});
}

TEST_CASE("mlp trains on a CUDA device as on the CPU", "[cuda][every_access]") {
  require_cuda_device();
  const RunCommand run;
  check_run(run, {"-w", "mlp", "-b", "8"});
  for (const std::string precision : {"bf16", "fp16", "tf32"})
    check_run(run, {"-w", "mlp", "-b", "8", "--precision", precision});
  check_run(run, {"-w", "mlp", "-s", "grad-accum", "-b", "4", "--data", kDigits});
}

TEST_CASE("resnet18 trains on a CUDA device as on the CPU", "[cuda][every_access]") {
  require_cuda_device();
  const RunCommand run(std::chrono::minutes(10));
  for (const std::string precision : {"fp32", "bf16"})
    check_run(run, {"-w", "resnet18", "-b", "2", "--precision", precision}, kOneStep);
}

TEST_CASE("models of convolutions train on a CUDA device as on the CPU", "[cuda][every_access]") {
  require_cuda_device();
  const RunCommand run;
  run.write("normed.json", model_of_images("batch_norm"));
  run.write("plain.json", model_of_images("gelu"));
  for (const std::string precision : {"fp32", "bf16", "fp16", "tf32"}) {
    check_run(run, {"-w", "normed.json", "--precision", precision});
    check_run(run, {"-w", "plain.json", "--precision", precision, "--accumulate", "2"});
  }
}

TEST_CASE("a model of larger images trains on a CUDA device as on the CPU",
          "[cuda][every_access]") {
  require_cuda_device();
  const RunCommand run(std::chrono::minutes(10));
  run.write("m.json", R"({"schema": "ptbench.model/1", "name": "larger", "input": [3, 64, 64],
    "classes": 10, "batch": 2, "samples": 16,
    "optimizer": {"kind": "adamw", "lr": 0.001},
    "layers": [{"name": "conv1", "type": "conv2d", "outputs": 16, "kernel": 7, "stride": 2,
                "padding": 3, "bias": false},
               {"name": "norm1", "type": "batch_norm"},
               {"name": "relu1", "type": "relu"},
               {"name": "pool1", "type": "max_pool", "kernel": 3, "stride": 2, "padding": 1},
               {"name": "conv2", "type": "conv2d", "outputs": 24, "kernel": 3, "stride": 2,
                "padding": 1, "bias": false},
               {"name": "norm2", "type": "batch_norm"},
               {"name": "shortcut", "type": "conv2d", "outputs": 24, "kernel": 1, "stride": 2,
                "inputs": ["pool1"]},
               {"name": "add", "type": "add", "inputs": ["norm2", "shortcut"]},
               {"name": "relu2", "type": "relu"},
               {"name": "pool2", "type": "average_pool", "kernel": 2, "stride": 2},
               {"name": "flatten", "type": "flatten"},
               {"name": "fc", "type": "linear", "outputs": 10}]})");
  for (const std::string precision : {"fp32", "bf16", "fp16", "tf32"})
    check_run(run, {"-w", "m.json", "--precision", precision});
}

TEST_CASE("resnet18 passes verification in fp16 and tf32 on a CUDA device", "[cuda]") {
  require_cuda_device();
  const RunCommand run(std::chrono::minutes(10));
  for (const std::string precision : {"fp16", "tf32"})
    check_run(run, {"-w", "resnet18", "-b", "2", "--precision", precision}, kOneStep);
}

TEST_CASE("resnet50 at 224 x 224 pixels passes verification on a CUDA device", "[cuda]") {
  require_cuda_device();
  const RunCommand run(std::chrono::minutes(10));
  const auto record = record_of(
      run, {"-w", "resnet50", "-b", "1", "--device", "cuda:0", "--warmup", "0", "--steps", "1"});
  CHECK(record["workload"]["input_shape"] == nlohmann::json{3, 224, 224});
  CHECK(record["verification"]["status"] == "passed");
}

TEST_CASE("a CUDA device and the CPU give the same losses from the same weights", "[cuda]") {
  require_cuda_device();
  const Words common{"-w",     "mlp", "--data",   kDigits, "-b",       "32", "--steps",   "4",
                     "--seed", "5",   "--verify", "off",   "--warmup", "1",  "--loss-log"};
  const RunCommand run;
  REQUIRE(run(common + Words{"cpu.csv", "--device", "cpu"}).exit_code == 0);
  REQUIRE(run(common + Words{"cuda.csv", "--device", "cuda"}).exit_code == 0);
  check_same_losses(run.text("cuda.csv"), run.text("cpu.csv"));
}

TEST_CASE("a run on a CUDA device repeats every bit", "[cuda]") {
  require_cuda_device();
  const Words words{"-w",
                    "mlp",
                    "-b",
                    "16",
                    "--device",
                    "cuda:0",
                    "--steps",
                    "3",
                    "--verify",
                    "off",
                    "--save-final-weights"};
  const RunCommand run;
  REQUIRE(run(words + Words{"first.safetensors"}).exit_code == 0);
  REQUIRE(run(words + Words{"second.safetensors"}).exit_code == 0);
  CHECK(run.text("first.safetensors") == run.text("second.safetensors"));
}

/// What `words` train with the graph is, bit by bit, what they train without. Steps are skipped in
/// both as `skips` says.
void check_graph(const Words& words, bool skips = false, const RunCommand& run = RunCommand()) {
  CAPTURE(words);
  for (const std::string mode : {"on", "off"}) {
    const auto record = record_of(
        run, words + Words{"--device", "cuda:0", "--verify", "off", "--steps", "4", "--graph", mode,
                           "--loss-log", mode + ".csv", "--save-final-weights", mode + ".st"});
    CHECK(record["strategy"]["graph"] == (mode == "on"));
    CHECK(std::ranges::any_of(record["warnings"], [](const auto& warning) {
            return warning["code"] == "skipped-steps";
          }) == skips);
  }
  CHECK(run.text("on.csv") == run.text("off.csv"));
  CHECK(run.text("on.st") == run.text("off.st"));
}

TEST_CASE("a graph of the step trains as the step does, bit by bit", "[cuda]") {
  require_cuda_device();
  check_graph({"-w", "mlp", "-b", "4", "--pin-memory"});
  check_graph({"-w", "linear", "--optimizer", "adamw"});
  for (const std::string count : {"2", "3", "4"})
    check_graph({"-w", "linear", "-s", "grad-accum", "--accumulate", count, "--optimizer", "adam"});
  check_graph({"-w", "mlp", "-b", "4", "-s", "amp"});
  check_graph({"-w", "mlp", "-b", "4", "--loss-scale", "8"});
  check_graph({"-w", "linear", "--precision", "fp16", "--accumulate", "2"});
  check_graph({"-w", "linear", "-s", "ddp", "-n", "1", "--accumulate", "3"});
  // So large a step that gradients overflow: Adam's updates are counted without those skipped.
  check_graph(
      {"-w", "mlp", "-b", "4", "--precision", "fp16", "--optimizer", "adamw", "--lr", "0.1"}, true);
}

TEST_CASE("small passes in one launch compute what their own kernels do, bit by bit", "[cuda]") {
  require_cuda_device();
  for (const std::string precision : {"fp32", "bf16", "fp16"})
    for (const Words& optimizer :
         {Words{"--optimizer", "adam"}, Words{"--optimizer", "sgd", "--lr", "0.1"},
          Words{"--optimizer", "sgd", "--lr", "0.1", "--momentum", "0.9"}})
      check_graph(Words{"-w", "linear", "--precision", precision} + optimizer);
  // More passes than one launch has, with rectifiers and gradients of inputs; then a layer that is
  // none of them.
  const std::string head = R"({"schema": "ptbench.model/1", "name": "deep", "input": [6],
      "classes": 3, "batch": 8, "samples": 64, "optimizer": {"kind": "sgd", "lr": 0.1},
      "layers": [)";
  const auto layer = [](int number, int outputs) {
    const std::string name = std::to_string(number);
    return R"({"name": "fc)" + name + R"(", "type": "linear", "outputs": )" +
           std::to_string(outputs) + R"(}, {"name": "relu)" + name + R"(", "type": "relu"}, )";
  };
  const std::string tail = R"({"name": "last", "type": "linear", "outputs": 3}]})";
  const RunCommand run;
  run.write("m.json", head + layer(1, 7) + layer(2, 8) + layer(3, 9) + layer(4, 5) + tail);
  check_graph({"-w", "m.json"}, false, run);
  check_graph({"-w", "m.json", "--accumulate", "3"}, false, run);
  run.write("m.json", head + layer(1, 7) + layer(2, 100) + layer(3, 9) + tail);
  check_graph({"-w", "m.json", "--optimizer", "adam"}, false, run);
}

TEST_CASE("the network reads digits as well as the CPU's does", "[cuda]") {
  require_cuda_device();
  const Words common{"-w",       "mlp", "--data", kDigits, "-b",       "64",
                     "--epochs", "2",   "--lr",   "0.05",  "--verify", "off"};
  const RunCommand run;
  const auto cuda = record_of(run, common + Words{"--device", "cuda:0"});
  const auto cpu = record_of(run, common + Words{"--device", "cpu"});
  const double accuracy = cuda["accuracy"]["test"];
  CHECK(accuracy > 0.8);
  CHECK(std::abs(accuracy - cpu["accuracy"]["test"].get<double>()) <= 0.01);
}

TEST_CASE("what a CUDA device cannot do is one clear error", "[cuda]") {
  require_cuda_device();
  struct Mistake {
    Words words;
    int exit_code;
    std::string says;
  };
  const std::vector<Mistake> mistakes{
      {{"--device", "cuda:99"}, 5, "--device cuda:99: there is no such device, only cuda:0"},
      {{"--device", "cuda:0+1"}, 1, "2 GPUs for 1 rank"},
      {{"--device", "cpu", "--precision", "fp16"}, 5, "--precision fp16: CPUs cannot multiply it"},
      {{"--device", "cpu", "--precision", "tf32"}, 5, "--precision tf32: CPUs cannot multiply it"},
      {{"--device", "cuda", "-s", "amp", "--precision", "tf32"}, 1, "'amp' is mixed precision"},
      {{"--device", "cuda", "-s", "amp", "--precision", "fp32"}, 1, "'amp' is mixed precision"},
      {{"--device", "cuda", "-s", "ddp", "-n", "2"}, 5, "--nproc 2: 1 GPU of this host"},
      {{"--device", "cpu", "--graph", "on"}, 5, "--graph on: a CPU has no graphs"},
      {{"--device", "cpu", "--pin-memory"},
       5,
       "--pin-memory has no effect on a CPU: batches are not copied to a device"},
      {{"--device", "cuda", "-w", "mlp", "-b", "1000000000"}, 1, "of memory on cuda:0"}};
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.words);
    const RunCommand run;
    const ProgramResult result = run(mistake.words + Words{"--steps", "2"});
    CHECK(result.exit_code == mistake.exit_code);
    CHECK_THAT(result.errors, Contains(mistake.says));
  }
}

TEST_CASE("precisions that an older CUDA device lacks are one clear error", "[cuda]") {
  require_emulated_device();
  const RunCommand run;
  const auto on_turing = [&](const Words& words) {
    return run_program(Words{PTBENCH_EXECUTABLE, "run", "-w", "linear", "--device", "cuda"} +
                           words + Words{"--steps", "2"},
                       {.folder = run.path("."),
                        .environment = {"PTBENCH_EMULATOR_CAPABILITY=7.5",
                                        "XDG_CACHE_HOME=" + run.path("cache").string()}});
  };
  for (const std::string precision : {"bf16", "tf32"}) {
    const ProgramResult result = on_turing({"--precision", precision});
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors, Contains(precision + " needs compute capability 8.0"));
  }
  CHECK(on_turing({"--precision", "fp16"}).exit_code == 0);
  const ProgramResult mixed = on_turing({"-s", "amp"});
  CHECK(mixed.exit_code == 0);
  CHECK_THAT(mixed.output, Contains("fp16"));
}

TEST_CASE("an emulated device is not timed", "[cuda]") {
  require_emulated_device();
  const RunCommand run;
  const ProgramResult endless = run({"-w", "linear", "--device", "cuda"});
  CHECK(endless.exit_code == 1);
  CHECK_THAT(endless.errors, Contains("the device is emulated") && Contains("add --steps N"));
  const ProgramResult result = run({"-w", "linear", "--device", "cuda", "--steps", "2"});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, !Contains("samples/s"));
  CHECK_THAT(result.errors, !Contains("samples/s"));
}

}  // namespace
}  // namespace ptbench::testing

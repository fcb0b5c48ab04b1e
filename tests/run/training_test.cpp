// Precisions, accumulation, model files, data and targets, as users give them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "src/device/isa.h"
#include "tests/run/command.h"
#include "tests/support/skip.h"
#include "tests/support/watched.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

const std::string kDigits = PTBENCH_TEST_DATA "/digits";

bool has_warning(const nlohmann::json& record, const std::string& code) {
  return std::ranges::any_of(record["warnings"],
                             [&](const auto& warning) { return warning["code"] == code; });
}

/// A small residual network, on images of 3 × 8 × 8.
std::string small_model(const std::string& last_inputs = R"(["bn2", "relu1"])") {
  return R"({"schema": "ptbench.model/1", "name": "tiny", "input": [3, 8, 8], "classes": 10,
    "batch": 4, "samples": 40, "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [
      {"name": "conv1", "type": "conv2d", "outputs": 16, "kernel": 3, "padding": 1, "bias": false},
      {"name": "bn1", "type": "batch_norm"},
      {"name": "relu1", "type": "relu"},
      {"name": "conv2", "type": "conv2d", "outputs": 16, "kernel": 3, "padding": 1},
      {"name": "bn2", "type": "batch_norm"},
      {"name": "sum", "type": "add", "inputs": )" +
         last_inputs + R"(},
      {"name": "pool", "type": "global_average_pool"},
      {"name": "rows", "type": "flatten"},
      {"name": "fc", "type": "linear", "outputs": 10}]})";
}

TEST_CASE("accumulated micro-batches train as the unsplit batch does", "[run]") {
  const RunCommand run;
  const auto record = record_of(run, run({"-w", "mlp", "-s", "grad-accum", "-b", "8", "--steps",
                                          "3", "--data", kDigits, "-o", "r.json"}));
  CHECK(record["id"].get<std::string>().starts_with("mlp/grad-accum/n1/b8/fp32"));
  CHECK(record["strategy"]["accumulation_steps"] == 4);
  CHECK(record["strategy"]["global_batch"] == 32);
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["verification"]["steps"] == 5);
  CHECK(record["verification"]["lr"] == 0.01);
  CHECK(record["verification"]["tolerance"] == 0.01);
  CHECK_FALSE(record["verification"]["worst_tensor"].is_null());
}

TEST_CASE("accumulation over batch norm is not compared, and says why", "[run]") {
  const RunCommand run;
  run.write("m.json", small_model());
  const auto record =
      record_of(run, run({"-w", "m.json", "--accumulate", "2", "--steps", "2", "-o", "r.json"}));
  CHECK(record["id"].get<std::string>().find("/accumulate=2") != std::string::npos);
  CHECK(record["verification"]["status"] == "not_run");
  CHECK_THAT(record["verification"]["reason"].get<std::string>(), Contains("batch norm"));
}

TEST_CASE("bf16 trains beside fp32 and close to it", "[run]") {
  require_bf16();
  const RunCommand run;
  run.write("m.json", small_model());
  for (const std::string& workload : {std::string("mlp"), std::string("m.json")}) {
    const auto record = record_of(
        run, run({"-w", workload, "-s", "amp", "-b", "8", "--steps", "3", "-o", "r.json"}));
    CHECK(record["strategy"]["precision"] == "bf16");
    CHECK(record["verification"]["status"] == "passed");
    CHECK(record["verification"]["max_relative_error"].get<double>() > 0);
    CHECK(record["verification"]["tolerance"] == 0.01);
    CHECK_THAT(record["compute"]["peak_source"].get<std::string>(), Contains("bf16"));
  }
}

TEST_CASE("bf16, accumulation and loss scaling combine, and learn the digits", "[run]") {
  require_bf16();
  const RunCommand run;
  const auto record = record_of(
      run, run({"-w", "mlp", "--precision", "bf16", "--accumulate", "4", "--loss-scale", "dynamic",
                "--data", kDigits, "-b", "8", "--lr", "0.05", "--epochs", "6", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["id"].get<std::string>().find("/loss-scale=dynamic") != std::string::npos);
  CHECK(record["accuracy"]["train"].get<double>() > 0.97);
  CHECK(record["accuracy"]["test"].get<double>() > 0.87);
}

TEST_CASE("verification alone times nothing", "[run]") {
  const RunCommand run;
  const auto record = record_of(
      run, run({"-w", "mlp", "--accumulate", "2", "-b", "4", "--verify", "only", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["throughput"]["value"].is_null());
  CHECK(record["samples"]["count"].is_null());
  CHECK(record["memory"]["before_bytes"].get<double>() > 0);
  CHECK(record["memory"]["peak_bytes"].is_null());  // that of verification would be no training's
}

TEST_CASE("who asks for a comparison that there is not is told so", "[run]") {
  const RunCommand run;
  const auto only = record_of(run, run({"-w", "linear", "--verify", "only", "-o", "r.json"}));
  CHECK(only["status"] == "skipped");
  CHECK_THAT(only["reason"].get<std::string>(), Contains("nothing was verified"));
  const auto on =
      record_of(run, run({"-w", "linear", "--verify", "on", "--steps", "1", "-o", "r.json"}));
  CHECK(on["status"] == "ok");
  CHECK(has_warning(on, "not-verified"));
}

TEST_CASE("a plan file serves with and without verification", "[run][long]") {
  const RunCommand run;
  std::vector<std::string> arguments{"-w",       "mlp", "--accumulate", "2",         "-b", "4",
                                     "--steps",  "1",   "--plan",       "plan.json", "-o", "r.json",
                                     "--verify", "off"};
  const auto without = record_of(run, run(arguments));
  const std::string plan = run.text("plan.json");
  arguments.back() = "on";
  const auto with = record_of(run, run(arguments));
  CHECK(with["verification"]["status"] == "passed");
  CHECK(with["strategy"]["plan_hash"] == without["strategy"]["plan_hash"]);
  CHECK(run.text("plan.json") == plan);
}

TEST_CASE("a loss scale is verified too, and diverging under one is a failure", "[run]") {
  const RunCommand run;
  const auto record = record_of(
      run, run({"-w", "mlp", "-b", "8", "--loss-scale", "1024", "--steps", "2", "-o", "r.json"}));
  CHECK(record["verification"]["status"] == "passed");
  const ProgramResult diverged = run({"-w", "mlp", "-b", "8", "--loss-scale", "dynamic", "--lr",
                                      "1e6", "--steps", "8", "--warmup", "0", "-o", "d.json"});
  CHECK(diverged.exit_code == 2);
  CHECK(run.json("d.json")["runs"][0]["status"] == "failed");
}

TEST_CASE("a model file trains like a workload of the catalog", "[run]") {
  const RunCommand run;
  run.write("m.json", small_model());
  const auto record = record_of(run, run({"-w", "m.json", "--steps", "5", "-o", "r.json",
                                          "--save-final-weights", "w.safetensors"}));
  CHECK(record["workload"]["name"] == "tiny");
  CHECK(record["workload"]["input_shape"] == nlohmann::json{3, 8, 8});
  CHECK(record["strategy"]["batch_per_replica"] == 4);
  const std::string weights = run.text("w.safetensors");
  CHECK_THAT(weights, Contains("bn1.running_mean") && Contains("conv2.bias"));
  // What was saved, running statistics included, starts another run.
  CHECK(run({"-w", "m.json", "--steps", "1", "--initial-weights", "w.safetensors"}).exit_code == 0);
}

TEST_CASE("model files that are wrong are refused with the layer's name", "[run]") {
  const RunCommand run;
  run.write("m.json", small_model(R"(["bn2", "pool"])"));
  const ProgramResult cycle = run({"-w", "m.json"});
  CHECK(cycle.exit_code == 1);
  CHECK_THAT(cycle.errors, Contains("m.json") && Contains("sum") && Contains("pool"));
  run.write("m.json", small_model(R"(["bn2", "input"])"));
  const ProgramResult shape = run({"-w", "m.json"});
  CHECK(shape.exit_code == 1);
  CHECK_THAT(shape.errors, Contains("sum") && Contains("16x8x8"));
  run.write("m.json", "{");
  CHECK(run({"-w", "m.json"}).exit_code == 1);
}

TEST_CASE("loader threads change nothing but the time", "[run][long]") {
  const RunCommand run;
  for (const char* workers : {"0", "1", "3"}) {
    const ProgramResult result = run({"-w", "mlp", "--data", kDigits, "-b", "16", "--epochs", "1",
                                      "--plan", "plan.json", "--data-workers", workers,
                                      "--loss-log", std::string(workers) + ".csv", "-o", "r.json"});
    const auto record = record_of(run, result);
    CHECK(record["data"]["workers"] == std::stoi(workers));
    CHECK(record["phases_seconds"]["data"].get<double>() > 0);
  }
  CHECK(run.text("0.csv") == run.text("1.csv"));
  CHECK(run.text("0.csv") == run.text("3.csv"));
}

TEST_CASE("training stops at its target and tells the time to it", "[run][long]") {
  const RunCommand run;
  const auto accurate =
      record_of(run, run({"-w", "mlp", "--data", kDigits, "-b", "32", "--lr", "0.05", "--epochs",
                          "50", "--target-accuracy", "0.8", "-o", "r.json"}));
  CHECK(accurate["samples"]["stop_reason"] == "target");
  CHECK(accurate["time_to_target_seconds"].get<double>() > 0);
  CHECK(accurate["accuracy"]["test"].get<double>() >= 0.8);
  const auto low = record_of(run, run({"-w", "mlp", "--data", kDigits, "-b", "32", "--lr", "0.05",
                                       "--epochs", "50", "--target-loss", "0.5", "-o", "r.json"}));
  CHECK(low["samples"]["stop_reason"] == "target");
  const auto missed =
      record_of(run, run({"-w", "mlp", "--data", kDigits, "-b", "32", "--lr", "0.0001", "--epochs",
                          "2", "--target-accuracy", "0.99", "-o", "r.json"}));
  CHECK(missed["samples"]["stop_reason"] == "epochs");
  CHECK(missed["time_to_target_seconds"].is_null());
  CHECK(has_warning(missed, "target-not-reached"));
}

TEST_CASE("CIFAR-10 files train the model of their shape", "[run][long]") {
  const RunCommand run;
  const auto write_batch = [&](const std::string& name, int records) {
    std::string bytes;
    for (int record = 0; record < records; ++record) {
      bytes.push_back(static_cast<char>(record % 10));
      for (int pixel = 0; pixel < 3072; ++pixel)
        bytes.push_back(static_cast<char>((record * 31 + pixel * 7) % 256));
    }
    run.write(name, bytes);
  };
  for (const char* part : {"1", "2", "3", "4", "5"})
    write_batch(std::string("data_batch_") + part + ".bin", 2);
  write_batch("test_batch.bin", 3);
  const auto record = record_of(run, run({"-w", "resnet18", "-b", "2", "--data", ".", "--steps",
                                          "1", "--warmup", "0", "-o", "r.json"}));
  CHECK(record["data"]["samples"] == 10);
  CHECK(record["data"]["mean"].size() == 3);
  CHECK(record["accuracy"]["test"].is_number());
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("OpenMP's variables do not take cores away", "[run]") {
  const RunCommand run;
  const auto threads = [&](const std::vector<std::string>& environment) {
    const ProgramResult result =
        run_program({PTBENCH_EXECUTABLE, "run", "-w", "linear", "--steps", "1", "--json"},
                    {.folder = run.path("."), .environment = environment});
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.output)["runs"][0]["strategy"]["threads"].get<int>();
  };
  const std::string cache = "XDG_CACHE_HOME=" + run.path("cache").string();
  CHECK(threads({cache, "OMP_PROC_BIND=close", "OMP_PLACES=cores"}) == threads({cache}));
}
#endif

TEST_CASE("predicted memory is what a run takes", "[run]") {
  if (kIsWatched) skip("sanitizers keep memory that was given back");
  const RunCommand run;
  run.write("m.json", small_model());
  const std::vector<std::string> arguments{"-w", "m.json",   "-b", "1024", "--steps",
                                           "1",  "--warmup", "0",  "-o",   "r.json"};
  CHECK(run(arguments).exit_code == 0);  // chooses operators
  const auto record = record_of(run, run(arguments));
  const auto& memory = record["memory"];
  const double taken = memory["peak_bytes"].get<double>() - memory["before_bytes"].get<double>();
  CHECK(taken == Approx(memory["predicted_bytes"].get<double>()).epsilon(0.2));
}

}  // namespace
}  // namespace ptbench::testing

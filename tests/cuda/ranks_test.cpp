// Runs of several ranks, each on a CUDA device of its own, and of replicas of one process on
// several: that they train what one replica trains, with graphs and without, and how they fail.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/host.h"
#include "src/measure/step_protocol.h"
#include "src/process/child_process.h"
#include "tests/cuda/device.h"
#include "tests/cuda/run_record.h"
#include "tests/run/command.h"
#include "tests/run/outside_ranks.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

constexpr const char* kModel = R"({"schema": "ptbench.model/1", "name": "small", "input": [16],
    "classes": 10, "batch": 8, "samples": 128,
    "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [{"name": "fc1", "type": "linear", "outputs": 33},
               {"name": "relu1", "type": "relu"},
               {"name": "fc2", "type": "linear", "outputs": 10}]})";

constexpr const char* kImages = R"({"schema": "ptbench.model/1", "name": "images",
    "input": [3, 8, 8], "classes": 10, "batch": 4, "samples": 64,
    "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9},
    "layers": [{"name": "conv1", "type": "conv2d", "outputs": 8, "kernel": 3, "padding": 1},
               {"name": "bn1", "type": "batch_norm"},
               {"name": "relu1", "type": "relu"},
               {"name": "flat", "type": "flatten"},
               {"name": "fc", "type": "linear", "outputs": 10}]})";

/// Verified, and then trained with graphs and without: bit by bit the same losses.
void check_training(const RunCommand& run, const Words& words, bool has_graph = true) {
  const Words all = words + Words{"--device", "cuda", "--steps", "3"};
  CAPTURE(all);
  const auto record = record_of(run, all + Words{"--graph", "auto", "--loss-log", "with.csv"});
  CHECK(record["status"] == "ok");
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["graph"] == has_graph);
  CHECK(record["strategy"]["devices"].size() == record["strategy"]["world_size"]);
  if (!has_graph) return;
  const auto plain =
      record_of(run, all + Words{"--graph", "off", "--verify", "off", "--loss-log", "without.csv"});
  CHECK(plain["strategy"]["graph"] == false);
  CHECK(run.text("with.csv") == run.text("without.csv"));
}

TEST_CASE(
    "strategies over two GPUs in each precision, with accumulation and without, train as one "
    "replica does",
    "[cuda]") {
  require_cuda_devices(2);
  const RunCommand run;
  run.write("m.json", kModel);
  const Words two{"-w", "m.json", "-n", "2", "--first-bucket-mb", "0.001", "--bucket-mb", "0.002"};
  const Words flat{"-w", "m.json", "-n", "2"};
  for (const char* precision : {"fp32", "bf16", "fp16"})
    for (const char* steps : {"1", "3"}) {
      const Words more{"--precision", precision, "--accumulate", steps};
      check_training(run, two + more + Words{"-s", "ddp"});
      check_training(run, flat + more + Words{"-s", "ddp-flat"});
      check_training(run, flat + more + Words{"-s", "ddp-central"});
    }
}

/// A row of the matrix of what verification is to see pass: every pair of values of two columns is
/// in one, but for what a strategy has not.
struct Verified {
  const char* ranks;
  const char* strategy;
  const char* precision;
  const char* accumulation;
  const char* graph;
};

constexpr std::array kVerified{Verified{"2", "ddp", "fp32", "1", "on"},
                               Verified{"4", "ddp", "tf32", "2", "off"},
                               Verified{"4", "ddp", "bf16", "1", "off"},
                               Verified{"2", "ddp", "fp16", "2", "on"},
                               Verified{"4", "ddp-flat", "fp32", "2", "off"},
                               Verified{"2", "ddp-flat", "tf32", "1", "on"},
                               Verified{"2", "ddp-flat", "bf16", "2", "on"},
                               Verified{"4", "ddp-flat", "fp16", "1", "off"},
                               Verified{"2", "ddp-central", "fp32", "2", "off"},
                               Verified{"4", "ddp-central", "tf32", "1", "on"},
                               Verified{"4", "ddp-central", "bf16", "2", "on"},
                               Verified{"2", "ddp-central", "fp16", "1", "off"},
                               Verified{"2", "ddp-central", "tf32", "2", "off"},
                               Verified{"4", "ddp-flat", "fp32", "1", "on"},
                               Verified{"2", "ddp-flat", "bf16", "1", "off"},
                               Verified{"4", "ddp", "fp16", "2", "on"},
                               Verified{"2", "dp", "fp32", "1", "off"},
                               Verified{"2", "dp", "tf32", "2", "off"},
                               Verified{"2", "dp", "bf16", "1", "off"},
                               Verified{"2", "dp", "fp16", "2", "off"}};

TEST_CASE("strategies over GPUs are verified in each combination of two options", "[cuda]") {
  require_cuda_devices(4);
  const RunCommand run;
  run.write("m.json", kModel);
  for (const Verified& row : kVerified) {
    CAPTURE(row.ranks, row.strategy, row.precision, row.accumulation, row.graph);
    const auto record =
        record_of(run, {"-w", "linear", "-b", "4", "--device", "cuda", "--verify", "only", "-n",
                        row.ranks, "-s", row.strategy, "--precision", row.precision, "--accumulate",
                        row.accumulation, "--graph", row.graph});
    CHECK(record["verification"]["status"] == "passed");
    CHECK(record["strategy"]["world_size"] == std::stoi(row.ranks));
  }
}

TEST_CASE("Adam's updates are counted in the graphs of ranks", "[cuda]") {
  require_cuda_devices(2);
  const RunCommand run;
  for (const char* strategy : {"ddp", "ddp-flat"})
    check_training(run, {"-w", "linear", "-n", "2", "-s", strategy, "--optimizer", "adam"});
}

TEST_CASE("strategies over four GPUs train as one replica does", "[cuda]") {
  require_cuda_devices(4);
  const RunCommand run;
  run.write("m.json", kModel);
  const Words four{"-w", "m.json", "-n", "4"};
  check_training(run, four + Words{"-s", "ddp", "--overlap", "off"});
  check_training(run, four + Words{"-s", "ddp", "--reduce-precision", "bf16"});
  check_training(run, four + Words{"-s", "ddp-flat", "--precision", "bf16", "--accumulate", "2"});
}

TEST_CASE("batch norm's statistics of rank 0 go to all GPUs", "[cuda]") {
  require_cuda_devices(2);
  const RunCommand run;
  run.write("m.json", kImages);
  check_training(run, {"-w", "m.json", "-n", "2", "-s", "ddp"});
}

TEST_CASE("dp's replicas each have a GPU of the process", "[cuda]") {
  require_cuda_devices(2);
  const RunCommand run;
  run.write("m.json", kModel);
  const auto record =
      record_of(run, {"-w", "m.json", "-s", "dp", "--device", "cuda:1+0", "--steps", "3"});
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["world_size"] == 2);
  CHECK(record["strategy"]["devices"] == nlohmann::json{"cuda:1", "cuda:0"});
  check_training(
      run, {"-w", "m.json", "-s", "dp", "-n", "2", "--precision", "bf16", "--accumulate", "2"},
      false);
}

TEST_CASE("ddp over NCCL and dp over copies train the same weights, bit by bit", "[cuda]") {
  require_cuda_devices(4);
  if (!has_emulated_devices()) skip("in which order a real NCCL adds four ranks is its own choice");
  const RunCommand run;
  run.write("m.json", kModel);
  // dp adds the replicas' gradients one after the other, as ranks in shared memory are added up.
  const auto weights = [&run](const Words& words) {
    const Words all{"-w",
                    "m.json",
                    "--device",
                    "cuda",
                    "-n",
                    "4",
                    "--verify",
                    "off",
                    "--steps",
                    "4",
                    "--save-final-weights",
                    "weights"};
    CHECK(record_of(run, all + words)["status"] == "ok");
    return run.text("weights");
  };
  for (const char* precision : {"fp32", "bf16"}) {
    CAPTURE(precision);
    const Words type{"--precision", precision};
    const std::string added = weights(type + Words{"-s", "dp"});
    for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"})
      for (const char* graph : {"on", "off"}) {
        CAPTURE(strategy, graph);
        CHECK(weights(type + Words{"-s", strategy, "--graph", graph}) == added);
      }
  }
}

TEST_CASE("ranks that others start take the GPUs of their local ranks", "[cuda]") {
  require_cuda_devices(2);
  const RunCommand run;
  const std::string begin =
      PTBENCH_EXECUTABLE " run -w linear -s ddp --device cuda --steps 1 --world-size 2 --rank ";
  const ProgramResult both = run_program(
      {"/bin/sh", "-c",
       begin + "1 --local-rank 0 & " + begin + "0 --local-rank 1 -o r.json && wait $!"},
      {.folder = run.path("."),
       .environment = {"PTBENCH_ADDR=localhost:" + std::to_string(20'000 + getpid() % 40'000),
                       "XDG_CACHE_HOME=" + run.path("cache").string()}});
  CAPTURE(both.errors, both.output);
  REQUIRE(both.exit_code == 0);
  const auto record = run.json("r.json")["runs"][0];
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["devices"] == nlohmann::json{"cuda:1", "cuda:0"});
  CHECK(record["ranks"][1]["device"] == "cuda:0");
}

TEST_CASE("as many GPUs as ranks are asked for, alike ones, each once", "[cuda]") {
  require_cuda_device();
  const std::size_t gpus = probe_cuda(PTBENCH_BUILT_MODULES).devices.size();
  const RunCommand run;
  const auto refused = [&](const Words& more) {
    return run(Words{"-w", "linear", "-s", "ddp", "--steps", "1"} + more);
  };
  const std::string more = std::to_string(gpus + 1);
  const ProgramResult many = refused({"--device", "cuda", "-n", more});
  CHECK(many.exit_code == 5);
  CHECK_THAT(many.errors, Contains("--nproc " + more + ": " + std::to_string(gpus) + " GPU"));
  const ProgramResult twice = refused({"--device", "cuda:0+0", "-n", "2"});
  CHECK(twice.exit_code == 5);
  CHECK_THAT(twice.errors, Contains("--device cuda:0+0: a GPU is named twice"));
  const ProgramResult absent = refused({"--device", "cuda:0+99", "-n", "2"});
  CHECK(absent.exit_code == 5);
  CHECK_THAT(absent.errors, Contains("there is no such device"));
  if (gpus < 2) return;
  const ProgramResult other = refused({"--device", "cuda", "-n", "2", "--communicator", "shm"});
  CHECK(other.exit_code == 1);
  CHECK_THAT(other.errors, Contains("--communicator shm moves values of CPUs"));
  const ProgramResult of_cpus = refused({"--device", "cpu", "-n", "2", "--communicator", "nccl"});
  CHECK(of_cpus.exit_code == 1);
  CHECK_THAT(of_cpus.errors, Contains("--communicator nccl moves values of GPUs"));
}

/// A run of two ranks where the environment also has `fault`, which emulated devices alone make.
ProgramResult run_with_fault(const RunCommand& run, const std::string& fault) {
  return run_program({PTBENCH_EXECUTABLE, "run", "-w", "linear", "-s", "ddp", "-n", "2", "--device",
                      "cuda", "--steps", "1", "--verify", "off", "--timeout", "2"},
                     {.folder = run.path("."), .environment = {fault}});
}

TEST_CASE("GPUs that are unlike, and an NCCL that does not serve, are refused", "[cuda]") {
  require_emulated_device();
  require_cuda_devices(2);
  const RunCommand run;
  const auto refused = [&](const std::string& fault, const std::string& error,
                           const std::string& remedy) {
    const ProgramResult result = run_with_fault(run, fault);
    CAPTURE(fault, result.errors, result.output);
    CHECK(result.exit_code == 5);
    CHECK(result.output.empty());
    CHECK_THAT(result.errors, Contains("error: " + error) && Contains(remedy));
  };
  refused("PTBENCH_EMULATOR_CAPABILITY=8.0,7.5",
          "--device cuda: the GPUs differ: cuda:0 is emulated", "name equal ones");
  for (const char* version : {"22104", "30000"})
    refused(std::string("PTBENCH_EMULATOR_NCCL=") + version,
            "--communicator nccl: the library libnccl.so.2 is NCCL ", "of the same major version");
}

/// `world` ranks, one after the other on as many of two hosts, which count them from 0.
std::vector<Start> on_two_hosts(const OutsideRanks& ranks, int world, const Words& more) {
  std::vector<Start> starts;
  for (int rank = 0; rank < world; ++rank) {
    const bool first = rank < world / 2;
    const int local = first ? rank : rank - world / 2;
    starts.push_back(
        {Words{"--device", "cuda", "--timeout", "20", "--rank", std::to_string(rank),
               "--world-size", std::to_string(world), "--local-rank", std::to_string(local)} +
             more,
         {ranks.address(), std::string("PTBENCH_HOST_ID=") + (first ? "a" : "b")}});
  }
  return starts;
}

TEST_CASE("GPUs of two hosts train over NCCL, and are verified", "[cuda]") {
  require_emulated_device();  // whose hosts share their GPUs
  require_cuda_devices(2);
  const std::string strategy = GENERATE("ddp", "ddp-flat", "ddp-central");
  const OutsideRanks ranks;
  const auto results =
      ranks(on_two_hosts(ranks, 4, {"-s", strategy, "--steps", "3", "-o", "r.json"}));
  CAPTURE(strategy, results[0].errors, results[2].errors);
  for (const ProgramResult& result : results) CHECK(result.exit_code == 0);
  CHECK_THAT(results[0].errors,
             Contains("ranks from --rank: 4 on 2 hosts (a, b), communicator nccl"));
  const auto record = ranks.files().json("r.json")["runs"][0];
  CHECK(record["status"] == "ok");
  CHECK(record["verification"]["status"] == "passed");
  CHECK(record["strategy"]["devices"] == Words{"cuda:0", "cuda:1", "cuda:0", "cuda:1"});
  for (const nlohmann::json& warning : record["warnings"])
    CHECK(warning["code"] != "shared-device");
  Words hosts;
  for (const nlohmann::json& rank : record["ranks"]) hosts.push_back(rank["host"]);
  CHECK(hosts == Words{"a", "a", "b", "b"});
}

TEST_CASE("hosts whose GPUs are unlike are refused", "[cuda]") {
  require_emulated_device();
  const OutsideRanks ranks;
  std::vector<Start> starts = on_two_hosts(ranks, 2, {"-s", "ddp", "--steps", "1"});
  starts[0].environment.emplace_back("PTBENCH_EMULATOR_CAPABILITY=9.0");
  starts[1].environment.emplace_back("PTBENCH_EMULATOR_CAPABILITY=8.0");
  const auto results = ranks(starts);
  for (const ProgramResult& result : results) {
    CAPTURE(result.output, result.errors);
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors, Contains("the ranks have different GPUs: rank 0 has emulated") &&
                                  Contains("(9.0), rank 1 has"));
  }
}

TEST_CASE("collectives between GPUs of two hosts go by NCCL", "[cuda]") {
  require_emulated_device();
  const OutsideRanks ranks;
  const auto results = ranks.comm(
      {"--communicator", "nccl", "--sizes", "4,64K", "--iters", "3", "--json"}, Words{"a", "b"});
  CAPTURE(results[0].errors, results[1].errors);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].exit_code == 0);
  CHECK_THAT(results[0].errors, Contains("2 on 2 hosts (a, b), communicator nccl"));
  const auto rows = nlohmann::json::parse(results[0].output);
  CHECK_FALSE(rows.empty());
  for (const nlohmann::json& row : rows) CHECK(row["wrong"] == 0);
}

TEST_CASE("ranks that NCCL does not bring together fail with one reason", "[cuda]") {
  require_emulated_device();
  require_cuda_devices(2);
  const RunCommand run;
  const auto failed = [&](const std::string& fault, const std::string& reason) {
    const ProgramResult result = run_with_fault(run, "PTBENCH_EMULATOR_NCCL=" + fault);
    CAPTURE(fault, result.errors, result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("  failed  ") && Contains(reason));
  };
  failed("no-id", "ncclGetUniqueId");
  failed("failed", "NCCL's start: NCCL: unhandled system error");
  failed("hangs", "NCCL's start: the GPUs did not finish within 2 s");
}

TEST_CASE("one rank on a GPU trains, whatever the wire", "[cuda]") {
  require_cuda_devices(1);
  const RunCommand run;
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"}) {
    const auto record =
        record_of(run, {"-w", "linear", "-s", strategy, "-n", "1", "--device", "cuda", "--steps",
                        "1", "--reduce-precision", "bf16", "--loss-scale", "1024"});
    CAPTURE(strategy);
    CHECK(record["status"] == "ok");
    CHECK(record["verification"]["status"] == "passed");
  }
}

TEST_CASE("ranks on GPUs train in turns that others grant", "[cuda]") {
  require_cuda_devices(2);
  const RunCommand place;
  TurnGrants grants;
  ChildProcess process(
      {.program = PTBENCH_EXECUTABLE,
       .arguments = {"run", "-w", "linear", "-s", "ddp", "-n", "2", "--device", "cuda", "--warmup",
                     "1", "--pass=next", "--verify=off", "--turns=" + grants.name(),
                     "--output=" + place.path("r.json").string()}});
  process.end_within(std::chrono::minutes(2));
  const auto wait_for_rest = [&] {
    while (!grants.is_waited_for()) {
      REQUIRE_FALSE(process.wait(std::chrono::milliseconds(100), grants.descriptor()));
      grants.look();
    }
  };
  constexpr Size kTurns = 2;
  constexpr Size kSteps = 3;
  for (Size turn = 0; turn < kTurns; ++turn) {
    wait_for_rest();
    grants.grant({.number = turn, .seconds = 0, .steps = kSteps});
  }
  wait_for_rest();
  CHECK(grants.taken().steps >= kSteps);
  grants.close();
  std::optional<ChildExit> ended;
  while (!ended) ended = process.wait(std::chrono::seconds(1));
  CHECK(ended->code == 0);
  const auto record = place.json("r.json")["runs"][0];
  CHECK(record["status"] == "ok");
  if (has_emulated_devices())  // whose slices tell nothing
    CHECK(record["samples"]["count"] == kTurns * kSteps);
  else
    CHECK(record["samples"]["slices"].size() == kTurns);
}

/// The tests below are for checked devices, which a race ends, in each order of operations.
TEST_CASE("a wait of ddp between computing and communicating on GPUs that is left out is found",
          "[cuda][checked]") {
  require_cuda_devices(2);
  const RunCommand run;
  run.write("m.json", kModel);
  const auto outcome = [&](const std::string& fault) {
    return run_program(Words{PTBENCH_MUTATED_EXECUTABLE,
                             "run",
                             "-w",
                             "m.json",
                             "-s",
                             "ddp",
                             "-n",
                             "2",
                             "--device",
                             "cuda",
                             "--steps",
                             "2",
                             "--verify",
                             "off",
                             "--graph",
                             "off",
                             "--overlap",
                             "on",
                             "--bucket-mb",
                             "0.002"},
                       {.folder = run.path("."), .environment = {"PTBENCH_MUTATION=" + fault}});
  };
  CHECK(outcome("").exit_code == 0);
  for (const char* fault :
       {"reduction-begins-before-backward-ends", "update-begins-before-reduction-ends"}) {
    const ProgramResult result = outcome(fault);
    CAPTURE(fault, result.errors, result.output);
    CHECK(result.exit_code != 0);
    CHECK_THAT(result.errors + result.output, Contains("cuda emulator: race: "));
  }
}

TEST_CASE("strategies over two GPUs have no race, in graphs as without", "[cuda][checked]") {
  require_cuda_devices(2);
  const RunCommand run;
  run.write("m.json", kModel);
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"}) {
    const auto record = record_of(run, {"-w", "m.json", "-s", strategy, "-n", "2", "--device",
                                        "cuda", "--steps", "2", "--graph", "auto"});
    CAPTURE(strategy);
    CHECK(record["strategy"]["graph"] == true);
    CHECK(record["verification"]["status"] == "passed");
  }
}

TEST_CASE("a sweep has rows of one GPU and of several, and a gate refuses emulated ones",
          "[cuda]") {
  require_cuda_devices(2);
  require_emulated_device();
  const RunCommand place;
  const auto ended = [&](const Words& words) {
    return run_program(Words{PTBENCH_EXECUTABLE} + words,
                       {.folder = place.path("."),
                        .environment = {"XDG_CACHE_HOME=" + place.path("cache").string()}});
  };
  const Words linear{"-w", "linear", "--device", "cuda"};
  const ProgramResult sweep =
      ended(Words{"sweep"} + linear +
            Words{"-s", "ddp,dp", "-n", "1,2", "--steps", "1", "--rounds", "1", "-o", "s.json"});
  CAPTURE(sweep.errors, sweep.output);
  REQUIRE(sweep.exit_code == 0);
  const auto runs = place.json("s.json")["runs"];
  CHECK(runs.size() == 6);  // with serial, of one rank's batch and of both ranks'
  for (const auto& run : runs) CHECK(run["status"] == "ok");
  const ProgramResult gate =
      ended(Words{"gate", "--base", PTBENCH_EXECUTABLE, "--new", PTBENCH_EXECUTABLE} + linear);
  CHECK(gate.exit_code == 1);
  CHECK_THAT(gate.errors, Contains("a gate needs a real device"));
}

TEST_CASE("doctor copies between GPUs", "[cuda]") {
  require_cuda_devices(2);
  const ProgramResult result = run_program({PTBENCH_EXECUTABLE, "doctor", "--json"}, {});
  REQUIRE(result.exit_code == 0);
  const auto groups = nlohmann::json::parse(result.output);
  const std::string state = has_emulated_devices() ? "emulated" : "note";
  for (const auto& [own, other] : {std::pair("cuda:0", "cuda:1"), std::pair("cuda:1", "cuda:0")}) {
    const std::string name = std::string("copy_to_") + other + "_bytes_per_second";
    const auto& findings = groups.at(own);
    const auto found = std::ranges::find_if(
        findings, [&](const auto& finding) { return finding["name"] == name; });
    REQUIRE(found != findings.end());
    CHECK((*found)["state"] == state);
    CHECK((*found)["value"].is_null() == has_emulated_devices());
  }
}

TEST_CASE("a GPU that cannot be reached leaves doctor the links to others", "[cuda]") {
  require_emulated_device();
  require_cuda_devices(3);
  const ProgramResult result = run_program({PTBENCH_EXECUTABLE, "doctor", "--json"},
                                           {.environment = {"PTBENCH_EMULATOR_PEERS=1"}});
  const auto findings = nlohmann::json::parse(result.output).at("cuda:1");
  const auto state_of = [&](const std::string& name) {
    const auto found = std::ranges::find_if(
        findings, [&](const auto& finding) { return finding["name"] == name; });
    return found == findings.end() ? std::string("absent") : (*found)["state"].get<std::string>();
  };
  CHECK(state_of("copy_to_cuda:0_bytes_per_second") == "emulated");
  CHECK(state_of("copy_to_cuda:2_bytes_per_second") == "failed");
  CHECK(state_of("speed") == "absent");
}

TEST_CASE("collectives between GPUs are right at all sizes", "[cuda]") {
  require_cuda_devices(3);
  const ProgramResult result = run_program(
      {PTBENCH_EXECUTABLE, "comm", "--device", "cuda", "-n", "3", "-b", "4", "-e", "4K", "-f", "32",
       "--iters", "2", "-w", "1", "--collective",
       "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather,all_to_all,send_receive",
       "--json"},
      {});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const auto rows = nlohmann::json::parse(result.output);
  CHECK(rows.size() == 8 * 3);
  const bool is_emulated = has_emulated_devices();
  for (const auto& row : rows) {
    CHECK(row["communicator"] == "nccl");
    CHECK(row["wrong"] == 0);
    CHECK(row["seconds"].is_null() == is_emulated);
    const bool has_one_way = row["collective"] == "gather" || row["collective"] == "all_to_all" ||
                             row["collective"] == "send_receive";
    CHECK(row["out_of_place_wrong"] == (has_one_way ? nlohmann::json() : nlohmann::json(0)));
    CHECK(row["out_of_place_seconds"].is_null() == (is_emulated || has_one_way));
  }
}

TEST_CASE("comm asks the host's memory before its GPUs, and shows what was done before a failure",
          "[cuda]") {
  require_cuda_devices(2);
  require_emulated_device();
  const RunCommand run;
  const auto ended = [&](const Words& words) {
    return run_program(Words{PTBENCH_EXECUTABLE, "comm", "-n", "2", "--iters", "2"} + words,
                       {.folder = run.path("."), .environment = {"PTBENCH_EMULATOR_NCCL=failed"}});
  };
  const ProgramResult failed = ended({"--communicator", "shm,nccl", "--sizes", "4K"});
  CAPTURE(failed.errors, failed.output);
  CHECK(failed.exit_code == 2);
  CHECK_THAT(failed.output, Contains("communicator shm") && Contains("all_reduce  4096"));
  CHECK_THAT(failed.errors, Contains("NCCL's start: "));
  if (available_memory() / 2 >= Bytes{64} << 30U) return;
  const ProgramResult large = ended({"--device", "cuda", "--sizes", "64G"});
  CAPTURE(large.errors);
  CHECK(large.exit_code == 1);
  CHECK_THAT(large.errors, Contains("2 ranks need about 128 GiB of memory, "));
}

}  // namespace
}  // namespace ptbench::testing

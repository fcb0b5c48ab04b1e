// A run says what is wrong with training that has a fault in it: those of mutations.json, planted
// in the shipped sources of ptbench_mutated.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "src/device/isa.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/watched.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kSource = PTBENCH_SOURCE_DIR "/";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

const json& table() {
  static const json read_table = json::parse(read(kSource + "tests/mutations/mutations.json"));
  return read_table;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// One of the table's setups, small enough to be run often, in a precision and with an optimizer.
class Trainer {
 public:
  Trainer(const json& setup, const std::string& precision, const std::string& optimizer) {
    const std::string& model = table()["small_workloads"][setup["workload"].get<std::string>()];
    command_ = {PTBENCH_MUTATED_EXECUTABLE, "run", "-w", kSource + model, "--threads", "1"};
    append(command_, setup["arguments"]);
    if (setup.contains("buckets")) append(command_, table()["small_buckets"]);
    append(command_, {"--precision", precision, "--optimizer", optimizer});
    if (optimizer == "sgd") append(command_, {"--lr", "0.01", "--momentum", "0.9"});
    append(command_, {"--steps", "40", "--plan", "plan.json", "-o", "r.json"});
  }

  /// `faults`: names, separated by commas.
  [[nodiscard]] ProgramResult operator()(const std::string& faults) const {
    return run_program(command_,
                       {.folder = folder_.path(), .environment = {"PTBENCH_MUTATION=" + faults}});
  }

  /// Of the run before.
  [[nodiscard]] json record() const {
    return json::parse(read((folder_.path() / "r.json").string()))["runs"][0];
  }

 private:
  TemporaryDirectory folder_;
  Words command_;
};

bool takes(const json& mutation, const std::string& setup, const std::string& optimizer) {
  const Words setups = mutation["setups"];
  const Words optimizers = mutation.value("optimizers", Words{optimizer});
  return std::ranges::find(setups, setup) != setups.end() &&
         std::ranges::find(optimizers, optimizer) != optimizers.end();
}

void check_passes(const Trainer& trainer, const std::string& circumstance) {
  const ProgramResult result = trainer(circumstance);
  CAPTURE(circumstance, result.output, result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(trainer.record()["verification"]["status"] == "passed");
}

void check_caught(const Trainer& trainer, const std::string& faults) {
  const ProgramResult result = trainer(faults);
  CAPTURE(faults, result.output, result.errors);
  CHECK(result.exit_code == 2);
  if (result.exit_code != 2) return;
  const json record = trainer.record();
  CHECK(record["status"] == "failed");
  const std::string& reason = record["reason"];
  CHECK_THAT(reason, Contains("does not match serial training") || Contains("after timing"));
}

void check_setup(const std::string& setup, const std::string& precision) {
  if (precision == "bf16") require_bf16();
  for (const std::string optimizer : {"sgd", "adam"}) {
    if (kIsWatched && optimizer != "sgd") continue;
    CAPTURE(setup, precision, optimizer);
    const Trainer trainer(table()["setups"][setup], precision, optimizer);
    check_passes(trainer, "");
    for (const json& mutation : table()["mutations"]) {
      if (!takes(mutation, setup, optimizer)) continue;
      const std::string circumstance = mutation.value("together_with", "");
      if (!circumstance.empty()) check_passes(trainer, circumstance);
      check_caught(trainer, mutation["name"].get<std::string>() + ',' + circumstance);
      if (kIsWatched && precision != "fp32") break;
    }
  }
}

}  // namespace

TEST_CASE("every fault of the table is planted, and in a setup that is run") {
  const std::string edits =
      read(kSource + "tests/mutations/edits.cmake") + read(kSource + "tests/mutations/mutation.h");
  const std::string tests = read(kSource + "tests/mutations/mutations_test.cpp");
  for (const auto& [setup, options] : table()["setups"].items())
    for (const std::string& precision : options.value("precisions", Words{"fp32", "bf16"}))
      CHECK_THAT(tests, Contains("check_setup(\"" + setup + "\", \"" + precision + "\")"));
  CHECK(table()["mutations"].size() >= 20);
  std::set<std::string> names;
  for (const json& mutation : table()["mutations"]) {
    const std::string& name = mutation["name"];
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK_THAT(edits, Contains("mutated(\"" + name + "\")"));
    for (const json& setup : mutation["setups"])
      CHECK(table()["setups"].contains(setup.get<std::string>()));
  }
}

TEST_CASE("ranks that part in later repetitions leave a failed verification and no figures") {
  const TemporaryDirectory folder;
  const ProgramResult result = run_program(
      {PTBENCH_MUTATED_EXECUTABLE, "run", "-w", kSource + "tests/mutations/mlp.json", "-s",
       "ddp-flat", "-n", "2", "--threads", "1", "--repeats", "3", "--max-time", "2", "-o",
       "r.json"},
      {.folder = folder.path(), .environment = {"PTBENCH_MUTATION=rank-diverges-after-20-steps"}});
  CAPTURE(result.output, result.errors);
  CHECK(result.exit_code == 2);
  const json record = json::parse(read((folder.path() / "r.json").string()))["runs"][0];
  CHECK(record["status"] == "failed");
  CHECK(record["verification"]["status"] == "failed");
  CHECK_THAT(record["reason"].get<std::string>(), Contains("after the timed steps"));
  CHECK(record["throughput"]["value"].is_null());
  CHECK(record["samples"]["repetitions"].empty());
  CHECK(record["compute"]["flops_per_second"].is_null());
}

TEST_CASE("one micro-batch of many that is dropped is caught in fp32") {
  if (kIsWatched) skip("far too slow");
  for (const char* steps : {"128", "256", "1024"}) {
    const TemporaryDirectory folder;
    const ProgramResult result = run_program(
        {PTBENCH_MUTATED_EXECUTABLE, "run", "-w", "linear", "-s", "serial", "-b", "1",
         "--accumulate", steps, "--samples", "4000", "--threads", "1", "--verify", "only"},
        {.folder = folder.path(), .environment = {"PTBENCH_MUTATION=last-micro-batch-dropped"}});
    CAPTURE(steps, result.output, result.errors);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("does not match serial training"));
  }
}

TEST_CASE("faults of ddp in fp32 are caught") { check_setup("ddp", "fp32"); }
TEST_CASE("faults of ddp in bf16 are caught") { check_setup("ddp", "bf16"); }
TEST_CASE("faults of ddp-buckets in fp32 are caught") { check_setup("ddp-buckets", "fp32"); }
TEST_CASE("faults of ddp-buckets in bf16 are caught") { check_setup("ddp-buckets", "bf16"); }
TEST_CASE("faults of ddp-flat in fp32 are caught") { check_setup("ddp-flat", "fp32"); }
TEST_CASE("faults of ddp-flat in bf16 are caught") { check_setup("ddp-flat", "bf16"); }
TEST_CASE("faults of ddp-central in fp32 are caught") { check_setup("ddp-central", "fp32"); }
TEST_CASE("faults of ddp-central in bf16 are caught") { check_setup("ddp-central", "bf16"); }
TEST_CASE("faults of dp in fp32 are caught") { check_setup("dp", "fp32"); }
TEST_CASE("faults of dp in bf16 are caught") { check_setup("dp", "bf16"); }
TEST_CASE("faults of accumulation in fp32 are caught") { check_setup("accumulation", "fp32"); }
TEST_CASE("faults of accumulation in bf16 are caught") { check_setup("accumulation", "bf16"); }
TEST_CASE("faults of ddp-accumulation in fp32 are caught") {
  check_setup("ddp-accumulation", "fp32");
}
TEST_CASE("faults of ddp-accumulation in bf16 are caught") {
  check_setup("ddp-accumulation", "bf16");
}
TEST_CASE("faults of weight-decay in fp32 are caught") { check_setup("weight-decay", "fp32"); }
TEST_CASE("faults of weight-decay in bf16 are caught") { check_setup("weight-decay", "bf16"); }
TEST_CASE("faults of fixed-scale in fp32 are caught") { check_setup("fixed-scale", "fp32"); }
TEST_CASE("faults of fixed-scale in bf16 are caught") { check_setup("fixed-scale", "bf16"); }
TEST_CASE("faults of dynamic-scale in fp32 are caught") { check_setup("dynamic-scale", "fp32"); }
TEST_CASE("faults of dynamic-scale in bf16 are caught") { check_setup("dynamic-scale", "bf16"); }
TEST_CASE("faults of amp in bf16 are caught") { check_setup("amp", "bf16"); }
TEST_CASE("faults of shares in fp32 are caught") { check_setup("shares", "fp32"); }
TEST_CASE("faults of shares in bf16 are caught") { check_setup("shares", "bf16"); }
TEST_CASE("faults of bf16-on-the-wire in fp32 are caught") {
  check_setup("bf16-on-the-wire", "fp32");
}
TEST_CASE("faults of bf16-on-the-wire in bf16 are caught") {
  check_setup("bf16-on-the-wire", "bf16");
}
TEST_CASE("faults of batch-norm in fp32 are caught") { check_setup("batch-norm", "fp32"); }
TEST_CASE("faults of batch-norm in bf16 are caught") { check_setup("batch-norm", "bf16"); }

}  // namespace ptbench::testing

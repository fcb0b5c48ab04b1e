// Steps that devices are given in a row, of which the last one's loss alone is read, as a GPU's are
// within a sample. Runs on emulated devices read every loss, and wait for every step: an order
// between two steps that is missing does not show there. Checked devices find it here: a batch that
// is written, or arrives, while the one before is still copied; a loss, gradients or parameters
// that the next step overwrites while a collective has not ended; a graph that is launched into
// work of the step before.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda/trainings.h"
#include "tests/run/command.h"
#include "tests/support/operator_harness.h"

namespace ptbench::testing {
namespace {

/// How the steps of a training are given.
struct GivenSteps {
  bool records = false;
  bool waits = false;  ///< for each step
};

/// What some steps leave; the loss is the last one's.
Trained train_in_a_row(Strategy& strategy, GivenSteps given) {
  constexpr int kSteps = 4;
  record_if(strategy, given.records);
  float loss = 0;
  for (int step = 1; step <= kSteps; ++step) {
    strategy.start_step();
    if (given.waits || step == kSteps) loss = strategy.finish_step();
  }
  Trained trained = train(strategy, 0);
  trained.losses = {loss};
  return trained;
}

bool leave_the_same(const Trained& one, const Trained& other) {
  return same_bits(one.losses, other.losses) && same_bits(one.arena, other.arena) &&
         same_bits(one.statistics, other.statistics);
}

TrainingSpec spec_in_a_row(const std::string& strategy) {
  return {.micro_batch = 6,
          .step = {.optimizer = sgd(), .accumulation_steps = strategy == "grad-accum" ? 3 : 1},
          .strategy = strategy};
}

void check_in_a_row(const Site& site, const Graph& graph, const TrainingSpec& spec) {
  for (const bool records : {false, true}) {
    if (records && spec.strategy == "dp") continue;
    CAPTURE(spec.strategy, name_of(spec.type), records);
    const auto trained = [&](bool waits) {
      Training training(*site.backend, graph, spec);
      return train_in_a_row(training.strategy(), {.records = records, .waits = waits});
    };
    CHECK(leave_the_same(trained(false), trained(true)));
  }
}

TEST_CASE("steps in a row on a CUDA device leave what steps do that are waited for", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  for (const std::string strategy : {"serial", "grad-accum"})
    check_in_a_row(site, mlp_graph(), spec_in_a_row(strategy));
  TrainingSpec spec = spec_in_a_row("serial");
  spec.type = ElementType::bf16;
  spec.step.optimizer = adam();
  spec.loaders = 1;
  check_in_a_row(site, conv_graph(), spec);
}

TEST_CASE("steps in a row of dp on two CUDA devices leave what steps do that are waited for",
          "[cuda]") {
  require_cuda_devices(2);
  const Site site = open_cuda_site("cuda:0");
  TrainingSpec spec = with_second_device(spec_in_a_row("dp"));
  spec.replicas = 2;
  spec.step.accumulation_steps = 2;
  check_in_a_row(site, mlp_graph(), spec);
}

std::vector<Trained> train_ranks_in_a_row(GpuRanks& gpus, const Graph& graph, const RanksSpec& spec,
                                          GivenSteps given) {
  std::vector<Trained> trained(2);
  on_gpus_of_two_ranks(gpus, [&](GpuRank rank) {
    RankTraining training(graph, spec, rank.backend, rank.communicator, rank.control);
    trained[static_cast<std::size_t>(rank.communicator.rank())] =
        train_in_a_row(training.strategy(), given);
  });
  return trained;
}

void check_ranks_in_a_row(GpuRanks& gpus, const Graph& graph, const StrategyRow& row) {
  const RanksSpec spec{.row = row,
                       .training = spec_in_a_row("serial"),
                       .options = {.first_bucket_bytes = 256, .bucket_bytes = 1024}};
  for (const bool records : {false, true}) {
    CAPTURE(row.name, records);
    const auto trained = [&](bool waits) {
      return train_ranks_in_a_row(gpus, graph, spec, {.records = records, .waits = waits});
    };
    const std::vector<Trained> in_a_row = trained(false);
    const std::vector<Trained> one_by_one = trained(true);
    CHECK(leave_the_same(in_a_row[0], one_by_one[0]));
    CHECK(leave_the_same(in_a_row[1], one_by_one[1]));
  }
}

TEST_CASE("steps in a row of two ranks on GPUs leave what steps do that are waited for", "[cuda]") {
  require_gpus_of_two_ranks();
  GpuRanks gpus;
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()})
    check_ranks_in_a_row(gpus, mlp_graph(), row);
  check_ranks_in_a_row(gpus, conv_graph(), ddp_strategy());  // has running statistics
}

/// For checked devices, which what is found ends.
TEST_CASE("an order between two batches that is left out is found", "[cuda][checked]") {
  require_emulated_device();
  const auto outcome = [](const std::string& fault) {
    const RunCommand run;
    return run_program(
        {PTBENCH_MUTATED_EXECUTABLE, "run", "-w", "linear", "--device", "cuda", "--accumulate", "3",
         "--warmup", "1", "--steps", "2", "--verify", "off", "--graph", "off"},
        {.folder = run.path("."), .environment = {"PTBENCH_MUTATION=" + fault}});
  };
  CHECK(outcome("").exit_code == 0);
  struct LeftOut {
    const char* fault;
    const char* report;
  };
  for (const LeftOut& left_out :
       {LeftOut{"batch-arrives-before-the-last-is-taken", "cuda emulator: race: "},
        LeftOut{"batch-written-before-the-last-is-sent", "cuda emulator: page-locked reuse: "}}) {
    const ProgramResult result = outcome(left_out.fault);
    CAPTURE(left_out.fault, result.errors, result.output);
    CHECK(result.exit_code != 0);
    CHECK_THAT(result.errors + result.output, Catch::Contains(left_out.report));
  }
}

}  // namespace
}  // namespace ptbench::testing

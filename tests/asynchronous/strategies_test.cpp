// Every strategy of one process, its data, its phases and its verification on a device that works
// later than it is asked to, in every order that is allowed, and whose memory the host cannot
// touch: bit by bit what they give on the CPU.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>

#include "kernels/choose.h"
#include "src/device/isa.h"
#include "strategies/evaluate.h"
#include "strategies/phase_pass.h"
#include "tests/asynchronous/sites.h"
#include "tests/strategies/verification.h"
#include "tests/support/operator_harness.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

constexpr Size kTrainedSteps = 5;

TrainingSpec spec_of(const StrategyRow& row) {
  return {.micro_batch = 6,
          .step = {.optimizer = sgd(), .accumulation_steps = row.accumulation_steps},
          .type = row.mixed_precision ? ElementType::bf16 : ElementType::f32,
          .strategy = row.name};
}

Trained train_later(const Graph& graph, const TrainingSpec& spec, Eagerness eagerness,
                    Fault fault = Fault::none) {
  DeferredTraining training(graph, spec, eagerness);
  training.world().plant(fault);
  std::vector<float> losses;
  for (int step = 0; step < kTrainedSteps; ++step) losses.push_back(training.strategy().step());
  for (int step = 0; step < kTrainedSteps; ++step) training.strategy().start_step();
  losses.push_back(training.strategy().finish_step());
  training.world().plant(Fault::none);
  Trained trained = train(training.strategy(), 0);
  trained.losses = std::move(losses);
  return trained;
}

Trained train_at_once(const Graph& graph, const TrainingSpec& spec) {
  ImmediateTraining training(graph, spec);
  Trained trained = train(training.strategy(), 2 * kTrainedSteps);
  trained.losses.erase(trained.losses.begin() + kTrainedSteps, trained.losses.end() - 1);
  return trained;
}

void check_same(const Graph& graph, const TrainingSpec& spec) {
  const Trained expected = train_at_once(graph, spec);
  for (const Eagerness eagerness : kEveryEagerness) {
    CAPTURE(spec.strategy, spec.replicas, spec.threads, static_cast<int>(eagerness));
    const Trained trained = train_later(graph, spec, eagerness);
    CHECK(same_bits(trained.losses, expected.losses));
    CHECK(same_bits(trained.arena, expected.arena));
    CHECK(same_bits(trained.statistics, expected.statistics));
    CHECK(trained.skipped == expected.skipped);
  }
}

}  // namespace

TEST_CASE("strategies of one process wait for all that a late device does") {
  for (const StrategyRow& row : strategy_catalog()) {
    if (row.several_ranks && !row.one_process) continue;
    if (row.mixed_precision && !has_bf16_products()) continue;
    for (const Size replicas : row.one_process ? std::vector<Size>{1, 2, 3} : std::vector<Size>{1})
      for (const Graph& graph : {mlp_graph(), conv_graph()}) {
        TrainingSpec spec = spec_of(row);
        spec.replicas = replicas;
        check_same(graph, spec);
      }
  }
}

TEST_CASE("accumulation, Adam and several threads on a late device") {
  TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "dp")));
  spec.step = {.optimizer = adam(), .accumulation_steps = 3};
  spec.replicas = spec.strategy == "dp" ? 2 : 1;
  spec.threads = 2;
  check_same(conv_graph(), spec);
}

TEST_CASE("loss scaling reads on time whether gradients are finite") {
  TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "dp")));
  spec.replicas = spec.strategy == "dp" ? 2 : 1;
  spec.step.loss_scale = {.kind = LossScaling::dynamic, .value = 0};
  spec.step.optimizer.lr = 1e-4;
  check_same(mlp_graph(), spec);
  // So large a rate that gradients overflow at the first scale.
  spec.step.optimizer = {.lr = 1e18};
  const Trained expected = train_at_once(mlp_graph(), spec);
  CHECK(expected.skipped > 0);
  for (const Eagerness eagerness : kEveryEagerness)
    CHECK(train_later(mlp_graph(), spec, eagerness).skipped == expected.skipped);
}

TEST_CASE("loader threads work ahead of a late device") {
  TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "dp")));
  spec.replicas = spec.strategy == "dp" ? 2 : 1;
  spec.loaders = 2;
  check_same(mlp_graph(), spec);
}

TEST_CASE("a late device's data are rounded by the host") {
  if (!has_bf16_products()) skip("this CPU multiplies no bf16");
  TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "dp")));
  spec.type = ElementType::bf16;
  spec.replicas = spec.strategy == "dp" ? 2 : 1;
  spec.loaders = GENERATE(0, 1);
  check_same(conv_graph(), spec);
}

TEST_CASE("many steps are started before one loss is read") {
  const TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "grad-accum")));
  const Trained expected = train_at_once(conv_graph(), spec);
  for (const Eagerness eagerness : kEveryEagerness) {
    CAPTURE(static_cast<int>(eagerness));
    DeferredTraining training(conv_graph(), spec, eagerness);
    for (int step = 0; step < 2 * kTrainedSteps; ++step) training.strategy().start_step();
    CHECK(training.strategy().finish_step() == expected.losses.back());
    CHECK(training.strategy().steps() == 2 * kTrainedSteps);
    CHECK(same_bits(train(training.strategy(), 0).arena, expected.arena));
  }
}

TEST_CASE("verification compares what a late device computes") {
  const TrainingSpec spec = spec_of(find_strategy("serial"));
  TrainingSpec tested = spec_of(find_strategy("dp"));
  tested.replicas = 2;
  tested.samples = 100;
  TrainingSpec oracle = spec;
  oracle.samples = 100;
  oracle.step.accumulation_steps = 2;
  for (const Eagerness eagerness : kEveryEagerness) {
    DeferredTraining later(mlp_graph(), tested, eagerness);
    DeferredTraining in_turn(mlp_graph(), oracle, eagerness);
    const VerificationRecord record = verify_alone(later.strategy(), in_turn.strategy());
    INFO(record.reason.value_or(""));
    CHECK(record.status == VerificationStatus::passed);
    CHECK(record.steps == kAppliedSteps);
  }
}

TEST_CASE("verification fails where a late device computes something else") {
  const TrainingSpec spec = spec_of(find_strategy("serial"));
  TrainingSpec other = spec;
  other.step.optimizer.lr *= 1.01;
  DeferredTraining tested(mlp_graph(), other, Eagerness::none);
  DeferredTraining oracle(mlp_graph(), spec, Eagerness::none);
  CHECK(verify_alone(tested.strategy(), oracle.strategy()).status == VerificationStatus::failed);
}

TEST_CASE("phases of a late device are what lies between its events") {
  TrainingSpec spec = spec_of(find_strategy(GENERATE("serial", "dp")));
  spec.replicas = spec.strategy == "dp" ? 2 : 1;
  spec.micro_batch = 64;
  DeferredTraining training(conv_graph(), spec, Eagerness::none);
  const SteadyClock clock;
  const ObservedSteps steps = measure_phases(training.strategy(), clock, [] { return true; });
  const PhasesRecord& phases = steps.phases;
  REQUIRE(phases.forward);
  REQUIRE(phases.backward);
  REQUIRE(phases.optimizer);
  CHECK(*phases.forward > 0);
  CHECK(*phases.backward > 0);
  CHECK(*phases.optimizer > 0);
  CHECK(phases.other >= 0);
}

TEST_CASE("evaluating and reading weights wait for a late device") {
  const TrainingSpec spec = spec_of(find_strategy("serial"));
  ImmediateTraining at_once(conv_graph(), spec);
  DeferredTraining later(conv_graph(), spec, Eagerness::compute);
  for (int step = 0; step < kTrainedSteps; ++step) {
    at_once.strategy().start_step();
    later.strategy().start_step();
  }
  const auto always = [] { return true; };
  const auto expected =
      accuracy(at_once.training().program(), at_once.training().data().train, always);
  CHECK(accuracy(later.training().program(), later.training().data().train, always) == expected);
  const auto tensors = later.training().program().export_tensors();
  const auto expected_tensors = at_once.training().program().export_tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    CHECK(same_bits(tensors[i].values, expected_tensors[i].values));
  DeferredTraining fresh(conv_graph(), spec, Eagerness::transfer);
  fresh.training().program().import_tensors(tensors);
  CHECK(fresh.training().program().export_tensors().front().values == tensors.front().values);
}

TEST_CASE("operators of a late device are chosen") {
  DeferredTraining training(mlp_graph(), spec_of(find_strategy("serial")), Eagerness::none);
  const SteadyClock clock;
  const OperatorSpec linear = training.training().program().plan().graph().operators.front().spec;
  const Choices choices = choose(training.backend(), {linear}, {}, clock, [] { return true; });
  const auto candidates = training.backend().candidates(linear);
  CHECK(std::ranges::find(candidates, choices.at(key_of(linear))) != candidates.end());
}

TEST_CASE("the host cannot touch a late device's memory") {
  DeferredTraining training(mlp_graph(), spec_of(find_strategy("serial")), Eagerness::none);
  const float* parameters = training.training().program().parameters().data();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)std::signal(SIGSEGV, SIG_DFL);
    const volatile float value = *parameters;
    _exit(std::isnan(value) ? 42 : 43);  // which no sanitizer does
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) >= 42));
}

TEST_CASE("a wait that is left out shows in the results") {
  const auto [strategy, fault] =
      GENERATE(table<std::string, Fault>({{"serial", Fault::transfer_waits_for_nobody},
                                          {"serial", Fault::compute_waits_for_no_transfer},
                                          {"serial", Fault::host_waits_for_no_transfer},
                                          {"serial", Fault::host_waits_for_no_compute},
                                          {"grad-accum", Fault::transfer_waits_for_nobody},
                                          {"grad-accum", Fault::host_waits_for_no_transfer},
                                          {"dp", Fault::host_waits_for_no_compute}}));
  CAPTURE(strategy, static_cast<int>(fault));
  TrainingSpec spec = spec_of(find_strategy(strategy));
  spec.replicas = strategy == "dp" ? 2 : 1;
  const Trained expected = train_at_once(mlp_graph(), spec);
  bool shows = false;
  for (const Eagerness eagerness : kEveryEagerness)
    shows = shows || !same(train_later(mlp_graph(), spec, eagerness, fault), expected);
  CHECK(shows);
}

}  // namespace ptbench::testing

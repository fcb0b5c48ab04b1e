// Imbalance on purpose: replicas that compute slower than they could, ranks with unequal
// micro-batches; and updates that a team divides evenly.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "strategies/conductor.h"
#include "strategies/drag.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/support/first_plan.h"
#include "workloads/layout_digest.h"

namespace ptbench::testing {
namespace {

/// Time is how often it was asked for.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] double now() const override { return static_cast<double>(++readings_); }
  [[nodiscard]] int readings() const { return readings_; }

 private:
  mutable int readings_ = 0;
};

std::vector<float> parameters_of(Program& program) {
  return {program.parameters().begin(), program.parameters().end()};
}

/// A piece of work is one reading long: there is one at its beginning and one at its end, then
/// those of the drag, and one at the drag's end.
constexpr int kShare = 4;
constexpr int kReadings = 1 + 1 + kShare + 1;

TEST_CASE("a slow replica lags before each announcement and at the end of each phase",
          "[strategies]") {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(), {.micro_batch = 4, .step = {.optimizer = sgd()}});
  Replica& replica = training.strategy().replica();
  const CountingClock clock;
  replica.observe_computing(dragging(Drag(kShare, clock), replica.device()));

  std::vector<int> announced;
  replica.compute_gradients(
      [&](Range, Program::ReadyMark) { announced.push_back(clock.readings()); });
  const int forward = kReadings;
  REQUIRE(announced.size() == 2);
  CHECK(announced == std::vector<int>{forward + kReadings, forward + 2 * kReadings});
  const int gradients = forward + 3 * kReadings;
  CHECK(clock.readings() == gradients);
  const Range all = replica.all();
  replica.find_non_finite(std::span(&all, 1));
  CHECK(replica.read_finite());
  CHECK(clock.readings() == gradients + kReadings);
  replica.optimizer_step(replica.all(), 1);
  CHECK(clock.readings() == gradients + 2 * kReadings);
}

TEST_CASE("what happens in announcements does not count for a slow backward pass", "[strategies]") {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(), {.micro_batch = 4, .step = {.optimizer = sgd()}});
  Replica& replica = training.strategy().replica();
  const CountingClock clock;
  replica.observe_computing(dragging(Drag(kShare, clock), replica.device()));
  constexpr int kOthers = 100;
  replica.compute_gradients([&](Range, Program::ReadyMark) {
    for (int i = 0; i < kOthers; ++i) (void)clock.now();
  });
  CHECK(clock.readings() == 4 * kReadings + 2 * kOthers);
}

TEST_CASE("a replica that is not slowed down asks for no time", "[strategies]") {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(), {.micro_batch = 4, .step = {.optimizer = sgd()}});
  const CountingClock clock;
  Replica& replica = training.strategy().replica();
  replica.observe_computing(dragging(Drag(0, clock), replica.device()));
  (void)training.losses(3);
  CHECK(clock.readings() == 0);
  CHECK_THROWS_AS(Drag(-0.5, clock), Defect);
}

TEST_CASE("a slow replica computes the same", "[strategies]") {
  const ReferenceBackend backend;
  const TrainingSpec spec{.micro_batch = 4, .step = {.optimizer = adam(), .accumulation_steps = 2}};
  Training plain(backend, mlp_graph(), spec);
  Training slow(backend, mlp_graph(), spec);
  const SteadyClock clock;
  Replica& replica = slow.strategy().replica();
  replica.observe_computing(dragging(Drag(1, clock), replica.device()));
  CHECK(slow.losses(5) == plain.losses(5));
  CHECK(parameters_of(slow.program()) == parameters_of(plain.program()));
}

/// Ranks that share each micro-batch unequally.
struct SharesSpec {
  std::vector<Size> shares;
  StrategyRow row = ddp_strategy();
  StepSpec step = {.optimizer = sgd()};

  [[nodiscard]] Size together() const {
    return std::accumulate(shares.begin(), shares.end(), Size{0});
  }
  [[nodiscard]] Size global_batch() const { return together() * step.accumulation_steps; }
  [[nodiscard]] Size samples() const { return 3 * global_batch() + 1; }
};

/// Of `rank`; every operator uses the first of its candidates, or the `candidate`th.
std::unique_ptr<Strategy> build_rank(const SharesSpec& spec, const DataSource& data,
                                     const KernelBackend& backend, Communicator& communicator,
                                     ControlChannel& control, std::size_t candidate = 0) {
  const Size micro_batch = spec.shares[static_cast<std::size_t>(communicator.rank())];
  const Lowering lowering{.batch = micro_batch, .global_batch = spec.global_batch()};
  const Choices choices = choices_by(candidate, lower(mlp_graph(), lowering), backend);
  auto strategy = build_over(spec.row,
                             std::make_unique<Replica>(std::make_shared<const ProgramPlan>(
                                                           mlp_graph(), lowering, backend, choices),
                                                       spec.step, communicator.memory()),
                             batches_of(data, {.micro_batch = micro_batch,
                                               .accumulation_steps = spec.step.accumulation_steps,
                                               .replicas = communicator.world_size(),
                                               .replica = communicator.rank(),
                                               .shares = spec.shares}),
                             {.communicator = communicator,
                              .control = control,
                              .data_parallel = {.first_bucket_bytes = 64, .bucket_bytes = 256}});
  strategy->replica().program().initialise(0);
  return strategy;
}

DataSource data_of(const SharesSpec& spec) {
  return synthetic_data({.sample_shape = {20}, .classes = 4, .samples = spec.samples(), .seed = 1});
}

constexpr int kShareSteps = 6;

std::vector<Trained> train_shares(const SharesSpec& spec) {
  std::vector<Trained> trained(spec.shares.size());
  const ReferenceBackend backend;
  const DataSource data = data_of(spec);
  const SteadyClock clock;
  ThreadGroup(std::ssize(spec.shares)).run([&](SharedMemoryCommunicator& shared) {
    ControlChannel control = control_of(shared);
    const auto strategy = build_rank(spec, data, backend, shared, control);
    Replica& replica = strategy->replica();
    if (shared.rank() == 1) replica.observe_computing(dragging(Drag(0.5, clock), replica.device()));
    trained[static_cast<std::size_t>(shared.rank())] = train(*strategy, kShareSteps);
  });
  return trained;
}

/// One replica that runs the micro-batches unsplit.
Trained train_unsplit(const SharesSpec& spec) {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(),
                    {.micro_batch = spec.together(), .step = spec.step, .samples = spec.samples()});
  return train(training.strategy(), kShareSteps);
}

TEST_CASE("unequal shares, one of them slow, match one replica over unsplit micro-batches",
          "[strategies]") {
  const auto shares = GENERATE(std::vector<Size>{5}, std::vector<Size>{9, 3},
                               std::vector<Size>{1, 7, 2}, std::vector<Size>{4, 4});
  const auto optimizer = GENERATE(sgd(), adam());
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()})
    for (const Size accumulation : {1, 3}) {
      CAPTURE(row.name, shares, accumulation);
      const SharesSpec spec{.shares = shares,
                            .row = row,
                            .step = {.optimizer = optimizer, .accumulation_steps = accumulation}};
      const std::vector<Trained> ranks = train_shares(spec);
      for (const Trained& rank : ranks) {
        CHECK(rank.arena == ranks.front().arena);
        CHECK(rank.losses == ranks.front().losses);
      }
      const Apart apart = distance(ranks.front(), train_unsplit(spec));
      CHECK(apart.loss <= 1e-5);
      CHECK(apart.parameters <= 1e-4);
    }
}

TEST_CASE("each rank drags the steps that it makes, so that none falls asleep", "[strategies]") {
  const SharesSpec spec{.shares = {4, 4}};
  const ReferenceBackend backend;
  const DataSource data = data_of(spec);
  std::vector<int> drags(2);
  ThreadGroup(2).run([&](SharedMemoryCommunicator& shared) {
    ControlChannel control = control_of(shared);
    Conductor conductor(control, std::chrono::seconds(60));
    const auto strategy = build_rank(spec, data, backend, shared, control);
    const CountingClock clock;
    const Drag counted(kShare, clock, [&](FunctionRef<void()> job) {
      ++drags[static_cast<std::size_t>(shared.rank())];
      job();
    });
    const StepDrag drag(counted, *strategy);
    if (!conductor.leads()) return conductor.follow(*strategy);
    conductor.lead(*strategy);
    for (int step = 0; step < kShareSteps; ++step) (void)strategy->step();
    conductor.stop();
  });
  CHECK(drags == std::vector<int>{kShareSteps, kShareSteps});
}

/// Two candidates of a linear layer that keep its parameters differently.
std::pair<std::size_t, std::size_t> unlike_candidates(const KernelBackend& backend, Size batch) {
  const Lowering lowering{.batch = batch, .global_batch = 12};
  const OperatorSpec spec = lower(mlp_graph(), lowering).operators.front().spec;
  const std::vector<std::string> names = backend.candidates(spec);
  const std::uint64_t first = layout_digest(spec, *backend.plan(spec, names.front()));
  for (std::size_t i = 1; i < names.size(); ++i)
    if (layout_digest(spec, *backend.plan(spec, names[i])) != first) return {0, i};
  return {0, 0};
}

TEST_CASE("ranks with unequal shares whose parameters lie differently are told so",
          "[strategies]") {
  const SharesSpec spec{.shares = {9, 3}};
  const DataSource data = data_of(spec);
  const Topology topology = discover_topology();
  const auto failures = ThreadGroup(2).failures([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    const auto [one, other] = unlike_candidates(backend, 3);
    ControlChannel control = control_of(shared);
    (void)build_rank(spec, data, backend, shared, control, shared.rank() == 0 ? one : other);
  });
  for (const std::exception_ptr& failure : failures)
    CHECK(message_of(failure) ==
          "ranks 0 and 1 do not train the same model: the layouts of their parameters differ");
}

TEST_CASE("updates that are divided evenly change no bit", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend backend(device);
  const TrainingSpec spec{.micro_batch = 8, .step = {.optimizer = adam()}};
  Training owned(backend, mlp_graph(), spec);
  Training divided(backend, mlp_graph(), spec);
  Replica& replica = divided.strategy().replica();
  const Size third = replica.all().size() / 48 * 16;
  const std::vector<Range> slices{{0, third}, {third, third + 32}, {2 * third, replica.all().end}};
  replica.divide_updates(slices);
  for (Size step = 1; step <= 3; ++step) {
    owned.strategy().replica().compute_gradients([](Range, Program::ReadyMark) {});
    replica.compute_gradients([](Range, Program::ReadyMark) {});
    for (const Range& slice : slices) {
      owned.strategy().replica().optimizer_step(slice, step);
      replica.optimizer_step(slice, step);
    }
    CHECK(parameters_of(divided.program()) == parameters_of(owned.program()));
  }
  CHECK_THROWS_AS(replica.optimizer_step(replica.all(), 4), Defect);
}

}  // namespace
}  // namespace ptbench::testing

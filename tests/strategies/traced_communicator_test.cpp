#include "strategies/traced_communicator.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "strategies/buckets.h"
#include "strategies/phase_pass.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/strategies/training.h"

namespace ptbench::testing {
namespace {

bool without_end() { return true; }

/// What two ranks trace of the steps 2 to 4, and have trained after one more.
struct TracedRanks {
  std::vector<TraceRecorder> recorders{TraceRecorder(1, 3), TraceRecorder(1, 3)};
  std::vector<Trained> trained{2};
};

RanksSpec spec_of(const StrategyRow& row) {
  RanksSpec spec;
  spec.row = row;
  spec.training.micro_batch = 4;
  spec.training.step.optimizer = sgd();
  spec.options.first_bucket_bytes = 1024;
  spec.options.bucket_bytes = 1024;
  return spec;
}

TracedRanks trace_ranks(const RanksSpec& spec) {
  TracedRanks traced;
  const Topology topology = discover_topology();
  ThreadGroup(spec.world_size).run([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    const SteadyClock clock;
    const auto rank = static_cast<std::size_t>(shared.rank());
    PhaseTimer timer(clock, &device.compute(), &traced.recorders[rank]);
    TracedCommunicator communicator(shared, timer);
    ControlChannel control(shared.make_control());
    RankTraining training(mlp_graph(), spec, backend, communicator, control);
    trace_steps(training.strategy(), timer, {.first = 2, .count = 2}, clock, without_end);
    traced.trained[rank] = train(training.strategy(), 1);
  });
  return traced;
}

using Kinds = std::vector<CollectiveKind>;

Kinds kinds_of(std::span<const TracedCollective> collectives) {
  Kinds kinds;
  for (const TracedCollective& each : collectives) kinds.push_back(each.what.kind);
  return kinds;
}

/// Of one step, where gradients lie in so many buckets.
Kinds expected_of(const std::string& strategy, std::size_t buckets) {
  if (strategy == "ddp-flat") return {CollectiveKind::all_reduce, CollectiveKind::all_reduce};
  if (strategy == "ddp-central")
    return {CollectiveKind::reduce, CollectiveKind::broadcast, CollectiveKind::all_reduce};
  Kinds kinds(buckets, CollectiveKind::reduce_scatter);
  kinds.resize(2 * buckets, CollectiveKind::all_gather);
  kinds.push_back(CollectiveKind::all_reduce);  // of the loss
  return kinds;
}

std::size_t buckets_of(const RanksSpec& spec) {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  const auto plan = plan_of(mlp_graph(), spec, backend);
  return plan_buckets(plan->arena_elements(), slices_of_backward(*plan),
                      spec.options.first_bucket_bytes, spec.options.bucket_bytes)
      .size();
}

TEST_CASE("a trace has the collectives of every bucket, the same on all ranks", "[strategies]") {
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()}) {
    CAPTURE(row.name);
    const RanksSpec spec = spec_of(row);
    const std::size_t buckets = buckets_of(spec);
    REQUIRE(buckets > 1);
    const Kinds of_step = expected_of(row.name, buckets);
    Kinds expected;
    for (int step = 0; step < 3; ++step)
      expected.insert(expected.end(), of_step.begin(), of_step.end());
    const TracedRanks traced = trace_ranks(spec);
    for (const TraceRecorder& recorder : traced.recorders) {
      const TraceTrack& track = recorder.tracks().front();
      REQUIRE(track.steps().size() == 3);
      CHECK(track.steps().front().number == 2);
      CHECK(kinds_of(track.collectives()) == expected);
      for (const TracedCollective& each : track.collectives()) {
        CHECK(each.what.bytes > 0);
        CHECK(each.begin >= track.steps().front().begin);
        CHECK(each.end >= each.begin);
        CHECK(each.end <= track.steps().back().end);
      }
    }
  }
}

/// By one clock: what merging the ranks' traces relies on.
TEST_CASE("no rank finishes a traced collective before all have started it", "[strategies]") {
  const TracedRanks traced = trace_ranks(spec_of(ddp_strategy()));
  const auto first = traced.recorders[0].tracks().front().collectives();
  const auto second = traced.recorders[1].tracks().front().collectives();
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].end >= second[i].begin);
    CHECK(second[i].end >= first[i].begin);
  }
}

TEST_CASE("tracing changes no result", "[strategies]") {
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()}) {
    CAPTURE(row.name);
    const RanksSpec spec = spec_of(row);
    const TracedRanks traced = trace_ranks(spec);
    const std::vector<Trained> alone = train_ranks(mlp_graph(), spec, 5);
    for (std::size_t rank = 0; rank < alone.size(); ++rank)
      CHECK(traced.trained[rank].arena == alone[rank].arena);
  }
}

TEST_CASE("operations outside of steps that are timed are passed on unseen", "[strategies]") {
  const SteadyClock clock;
  TraceRecorder recorder(1, 1);
  PhaseTimer timer(clock, nullptr, &recorder);
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  TracedCommunicator communicator(alone, timer);
  std::array<float, 4> values{1, 2, 3, 4};
  const auto sum = [&] {
    communicator.wait(communicator.start_all_reduce(values_of(values), {.scale = 2}, nullptr),
                      std::chrono::seconds(1));
  };
  sum();
  {
    const StepScope step(&timer, 1);
    sum();
    communicator.wait(communicator.start_barrier(), std::chrono::seconds(1));
  }
  sum();
  CHECK(values[3] == 32);
  const auto collectives = recorder.tracks().front().collectives();
  REQUIRE(collectives.size() == 2);
  CHECK(collectives[0].what.kind == CollectiveKind::all_reduce);
  CHECK(collectives[0].what.bytes == 16);
  CHECK(collectives[1].what.kind == CollectiveKind::barrier);
  CHECK(collectives[1].end != TraceTrack::kOpen);
}

TEST_CASE("a trace of dp shows what each replica did, and the waiting of the first",
          "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  Training training(backend, mlp_graph(),
                    {.micro_batch = 4,
                     .step = {.optimizer = sgd(), .accumulation_steps = 2},
                     .strategy = "dp",
                     .replicas = 3});
  const SteadyClock clock;
  TraceRecorder recorder(3, 3);
  PhaseTimer timer(clock, nullptr, &recorder);
  trace_steps(training.strategy(), timer, {.first = 1, .count = 2}, clock, without_end);
  CHECK(recorder.whole_steps().size() == 3);
  const auto count = [&](std::size_t track, StepPhase phase) {
    return std::ranges::count(recorder.tracks()[track].spans(), phase, &TracedSpan::phase);
  };
  constexpr int kMicroBatches = 3 * 2;
  CHECK(count(0, StepPhase::forward) == 2 * kMicroBatches);  // of the model, of the loss
  CHECK(count(0, StepPhase::backward) == kMicroBatches);
  CHECK(count(0, StepPhase::gather) == kMicroBatches);
  CHECK(count(0, StepPhase::optimizer) == 3);
  CHECK(count(0, StepPhase::wait) == 4 * kMicroBatches);  // in all that replicas do together
  for (const std::size_t replica : {1U, 2U})
    for (const StepPhase phase :
         {StepPhase::scatter, StepPhase::replicate, StepPhase::forward, StepPhase::backward})
      CHECK(count(replica, phase) == kMicroBatches);
  for (const TraceTrack& track : recorder.tracks())
    for (const TracedSpan& span : track.spans()) CHECK(span.end >= span.begin);
  (void)training.losses(1);
  CHECK(count(1, StepPhase::forward) == kMicroBatches);  // nobody observes any more
}

TEST_CASE("steps are traced from the one on that was asked for", "[strategies]") {
  struct Expectation {
    TraceWindow window;
    Size first;
    Size steps;
  };
  for (const auto& [window, first, steps] : std::vector<Expectation>{
           {{.first = 1, .count = 1}, 1, 2}, {{.first = 7, .count = 3}, 7, 4}, {{}, 11, 5}}) {
    const ReferenceBackend backend;
    Training training(backend, mlp_graph(), {.micro_batch = 2, .step = {.optimizer = sgd()}});
    const SteadyClock clock;
    TraceRecorder recorder(1, 10);
    PhaseTimer timer(clock, nullptr, &recorder);
    trace_steps(training.strategy(), timer, window, clock, without_end);
    const auto traced = recorder.whole_steps();
    REQUIRE(static_cast<Size>(traced.size()) == steps);
    CHECK(traced.front().number == first);
    CHECK(training.strategy().steps() == first + steps - 1);
  }
}

}  // namespace
}  // namespace ptbench::testing

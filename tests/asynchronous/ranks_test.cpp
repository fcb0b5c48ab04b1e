// Strategies over several ranks, each on a device that works later, with a communicator of that
// device: bit by bit what they give on CPUs, in every order that is allowed.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/passing_communicator.h"
#include "src/device/quiet.h"
#include "strategies/phase_pass.h"
#include "strategies/traced_communicator.h"
#include "tests/asynchronous/sites.h"
#include "tests/support/operator_harness.h"

namespace ptbench::testing {
namespace {

constexpr int kSteps = 4;

RanksSpec spec_of(const StrategyRow& row, Size world_size) {
  RanksSpec spec;
  spec.world_size = world_size;
  spec.row = row;
  spec.training = {.micro_batch = 4, .step = {.optimizer = sgd()}};
  // Several buckets.
  spec.options.first_bucket_bytes = 1024;
  spec.options.bucket_bytes = 2048;
  return spec;
}

std::vector<StrategyRow> rows_of_ranks() {
  std::vector<StrategyRow> rows;
  for (StrategyRow& row : strategy_catalog())
    if (row.several_ranks && !row.one_process) rows.push_back(std::move(row));
  return rows;
}

void check_same(const Graph& graph, const RanksSpec& spec) {
  const std::vector<Trained> expected = train_ranks_on_cpus(graph, spec, kSteps);
  for (const Eagerness eagerness : kEveryEagerness) {
    CAPTURE(spec.row.name, spec.world_size, static_cast<int>(eagerness));
    const std::vector<Trained> trained = train_deferred_ranks(graph, spec, kSteps, eagerness);
    for (std::size_t rank = 0; rank < trained.size(); ++rank) {
      CHECK(same_bits(trained[rank].losses, expected[rank].losses));
      CHECK(same_bits(trained[rank].arena, expected[rank].arena));
      CHECK(same_bits(trained[rank].statistics, expected[rank].statistics));
      CHECK(trained[rank].skipped == expected[rank].skipped);
    }
  }
}

}  // namespace

TEST_CASE("ranks on late devices train as those on CPUs do") {
  const Size world_size = GENERATE(1, 2, 3, 4);
  for (const StrategyRow& row : rows_of_ranks()) check_same(conv_graph(), spec_of(row, world_size));
}

TEST_CASE("a world of one leaves waiting to the queue that is ordered after an operation") {
  constexpr std::array<float, 2> kWritten{1, 2};
  for (const Eagerness eagerness : kEveryEagerness) {
    CAPTURE(static_cast<int>(eagerness));
    DeferredWorld world(eagerness);
    DeferredDevice device(world, {.topology = discover_topology(), .threads = 1});
    SoloCommunicator alone(device.memory());
    const Buffer buffer = device.memory().allocate(sizeof kWritten, "a value");
    const std::span<float> values = buffer.as<float>();
    const auto written = device.transfer().make_event(EventClock::off);
    device.transfer().copy(std::as_bytes(std::span(kWritten)), std::as_writable_bytes(values));
    device.transfer().record(*written);
    const auto ticket = alone.start_all_reduce(values_of(values), {}, written.get());
    alone.order(device.compute(), ticket, std::chrono::seconds(10));
    std::array<float, 2> read{};
    device.compute().copy(std::as_bytes(values), std::as_writable_bytes(std::span(read)));
    device.compute().finish();
    CHECK(read == kWritten);
  }
}

TEST_CASE("ranks on late devices without overlap, with accumulation and loss scaling") {
  for (const StrategyRow& row : rows_of_ranks()) {
    RanksSpec spec = spec_of(row, 2);
    spec.options.overlap = false;
    check_same(mlp_graph(), spec);
    spec.options.overlap = true;
    spec.training.step.accumulation_steps = 3;
    spec.training.loaders = 1;
    check_same(mlp_graph(), spec);
    spec.training.step.loss_scale = {.kind = LossScaling::dynamic, .value = 0};
    spec.training.step.optimizer = adam();
    check_same(mlp_graph(), spec);
  }
}

TEST_CASE("ranks that rest between turns have left nothing to their devices") {
  const RanksSpec spec = spec_of(GENERATE(from_range(rows_of_ranks())), 2);
  CAPTURE(spec.row.name);
  std::vector<std::size_t> left{1, 1};  // tasks, by rank
  run_deferred_ranks(2, Eagerness::none, [&](const DeferredRank& rank) {
    Conductor conductor(rank.control, spec.options.timeout);
    RankTraining training(mlp_graph(), spec, rank.backend, rank.communicator, rank.control);
    Device& device = rank.backend.device();
    const auto unseen = device.transfer().make_event(EventClock::off);
    const auto rest = [&] {
      device.transfer().record(*unseen);  // which nobody waits for
      come_to_rest(device);
      left[static_cast<std::size_t>(rank.control.rank())] = rank.world.pending();
    };
    if (!conductor.leads()) return conductor.follow(training.strategy(), {.rest = rest});
    conductor.lead(training.strategy());
    for (int step = 0; step < kSteps; ++step) training.strategy().start_step();
    (void)training.strategy().finish_step();
    conductor.rest();
    rest();
    conductor.stop();
  });
  CHECK(left == std::vector<std::size_t>{0, 0});
}

TEST_CASE("ranks on late devices are verified and their phases timed") {
  const RanksSpec spec =
      spec_of(GENERATE(ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()), 2);
  VerificationRecord record;
  ComparedSteps steps;
  std::vector<PhasesRecord> phases(2);
  run_deferred_ranks(2, Eagerness::none, [&](const DeferredRank& rank) {
    Conductor conductor(rank.control, spec.options.timeout);
    RankTraining training(conv_graph(), spec, rank.backend, rank.communicator, rank.control);
    VerifiedRanks ranks(training.strategy(), rank.control, conductor, spec.options.timeout, true);
    const SteadyClock clock;
    if (conductor.leads()) {
      SoloCommunicator alone(rank.backend.device().memory());
      ControlChannel alone_control(
          std::make_unique<SoloCommunicator>(rank.backend.device().page_locked_memory()));
      RankTraining oracle(conv_graph(), in_turn(spec), rank.backend, alone, alone_control);
      oracle.strategy().replica().follow_statistics_every(2);
      conductor.lead(training.strategy());
      record = verify(
          training.strategy(), oracle.strategy(), ranks, {}, [] { return true; }, clock, steps);
      conductor.stop();
      conductor.lead(training.strategy());
      phases[0] = measure_phases(training.strategy(), clock, [] { return true; }).phases;
      conductor.stop();
    } else {
      conductor.follow(training.strategy(), {.look = [&] { ranks.follow(); }});
      PhaseTimer timer(clock, &training.strategy().replica().queue());
      conductor.follow(training.strategy(), {.timer = &timer});
      phases[1] = timer.means();
      training.strategy().observe(nullptr);
    }
  });
  INFO(record.reason.value_or(""));
  CHECK(record.status == VerificationStatus::passed);
  CHECK(std::ssize(steps.tested) >= kAppliedSteps);
  CHECK(steps.oracle.size() == steps.tested.size());
  for (const PhasesRecord& of_rank : phases) {
    REQUIRE(of_rank.forward);
    REQUIRE(of_rank.communication_exposed);
    CHECK(*of_rank.forward > 0);
    CHECK(*of_rank.communication_exposed >= 0);
    CHECK(*of_rank.communication >= *of_rank.communication_exposed);
  }
}

/// Notes who watches.
class NotedWatch final : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  void watch(WorkObserver* watch) override {
    noted_ = noted_ || watch != nullptr;
    watch_ = watch;
    PassingCommunicator::watch(watch);
  }
  /// Whether somebody watched since this was asked last, and nobody does now.
  [[nodiscard]] bool was_watched() { return std::exchange(noted_, false) && watch_ == nullptr; }

 private:
  bool noted_ = false;
  WorkObserver* watch_ = nullptr;
};

TEST_CASE("a trace has the collectives of late devices as they did them, each after the other") {
  const RanksSpec spec =
      spec_of(GENERATE(ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()), 2);
  const Eagerness eagerness = GENERATE(from_range(kEveryEagerness));
  CAPTURE(spec.row.name, static_cast<int>(eagerness));
  std::vector<TraceRecorder> recorders{TraceRecorder(1, 3), TraceRecorder(1, 3)};
  std::vector<int> watched(2);  // of an observed step, and of one before it and one behind
  run_deferred_ranks(2, eagerness, [&](const DeferredRank& rank) {
    const auto own = static_cast<std::size_t>(rank.control.rank());
    const SteadyClock clock;
    PhaseTimer timer(clock, &rank.backend.device().compute(), &recorders[own]);
    NotedWatch noted(rank.communicator);
    TracedCommunicator communicator(noted, timer);
    RankTraining training(mlp_graph(), spec, rank.backend, communicator, rank.control);
    const auto step = [&](int bit) {
      (void)training.strategy().step();
      if (noted.was_watched()) watched[own] |= bit;
    };
    step(1);
    training.strategy().observe(&timer);
    for (int steps = 0; steps < 3; ++steps) step(2);
    training.strategy().observe(nullptr);
    step(4);
  });
  CHECK(watched == std::vector<int>{2, 2});
  for (const TraceRecorder& recorder : recorders) {
    const TraceTrack& track = recorder.tracks().front();
    REQUIRE(track.steps().size() == 3);
    REQUIRE(track.collectives().size() >= 3);
    double free_at = track.steps().front().begin;
    for (const TracedCollective& each : track.collectives()) {
      REQUIRE(each.ran);
      CHECK(each.ran->begin >= free_at);
      CHECK(each.ran->end >= each.ran->begin);
      CHECK(each.ran->end <= each.end);
      free_at = each.ran->end;
    }
  }
}

/// Notes what is started, and which queue is ordered after it.
class NotedCalls final : public PassingCommunicator {
 public:
  NotedCalls(Communicator& inner, Device& device, std::vector<std::string>& calls)
      : PassingCommunicator(inner), device_(device), calls_(calls) {}
  [[nodiscard]] Ticket start_all_reduce(ptbench::Values values, Reduction reduction,
                                        const Event* after) override {
    note("all_reduce", values);
    return inner().start_all_reduce(values, reduction, after);
  }
  [[nodiscard]] Ticket start_reduce_scatter(ptbench::Values values, Reduction reduction,
                                            const Event* after) override {
    note("reduce_scatter", values);
    return inner().start_reduce_scatter(values, reduction, after);
  }
  [[nodiscard]] Ticket start_all_gather(ptbench::Values values, const Event* after) override {
    note("all_gather", values);
    return inner().start_all_gather(values, after);
  }
  void order(Queue& queue, Ticket ticket, Timeout timeout) override {
    calls_.emplace_back(&queue == device_.beside() ? "order beside" : "order");
    inner().order(queue, ticket, timeout);
  }

 private:
  void note(const char* name, ptbench::Values values) {
    calls_.push_back(name + (" " + std::to_string(values.count())));
  }

  Device& device_;
  std::vector<std::string>& calls_;
};

/// What ddp calls in its second step, on a device that communicates by itself.
std::vector<std::string> calls_of_ddp(const RanksSpec& spec, Size rank) {
  std::vector<std::vector<std::string>> calls(static_cast<std::size_t>(spec.world_size));
  run_deferred_ranks(spec.world_size, Eagerness::none, [&](const DeferredRank& own) {
    auto& noted = calls[static_cast<std::size_t>(own.control.rank())];
    NotedCalls communicator(own.communicator, own.backend.device(), noted);
    RankTraining training(mlp_graph(), spec, own.backend, communicator, own.control);
    (void)training.strategy().step();
    noted.clear();
    (void)training.strategy().step();
  });
  return calls[static_cast<std::size_t>(rank)];
}

TEST_CASE("on a device ddp updates and gathers each bucket while backward goes on") {
  const Size world_size = GENERATE(2, 3);
  RanksSpec spec = spec_of(ddp_strategy(), world_size);
  const auto is_of = [](const char* name) {
    return [name](const std::string& call) { return call.starts_with(name); };
  };
  for (const Size rank : {Size{0}, world_size - 1}) {
    CAPTURE(world_size, rank);
    spec.options.overlap = true;
    std::vector<std::string> calls = calls_of_ddp(spec, rank);
    // The loss first, then bucket by bucket; computing waits but once, for the last.
    REQUIRE(calls.size() >= 2 + 3 * 3);
    CHECK(calls.front() == "all_reduce 1");
    CHECK(calls.back() == "order");
    REQUIRE(calls.size() % 3 == 2);
    for (std::size_t i = 1; i + 1 < calls.size(); i += 3) {
      CHECK_THAT(calls[i], Catch::StartsWith("reduce_scatter "));
      CHECK(calls[i + 1] == "order beside");
      CHECK(calls[i + 2] == "all_gather " + calls[i].substr(calls[i].find(' ') + 1));
    }
    spec.options.overlap = false;
    calls = calls_of_ddp(spec, rank);
    const auto loss = std::ranges::find(calls, "all_reduce 1");
    CHECK(std::count_if(calls.begin(), loss, is_of("reduce_scatter")) == loss - calls.begin());
    CHECK(std::ranges::count(calls, "order beside") == 0);
    CHECK(std::count_if(loss, calls.end(), is_of("all_gather")) == loss - calls.begin());
  }
}

TEST_CASE("a wait between computing and communicating that is left out shows in the results") {
  struct Planted {
    StrategyRow row;
    Fault fault;
    std::string operation;
    bool has_statistics = false;
    bool overlaps = true;
  };
  const Planted planted = GENERATE(values<Planted>({
      {ddp_strategy(), Fault::operation_begins_at_once, "reduce_scatter"},
      {ddp_strategy(), Fault::operation_begins_at_once, "all_gather"},
      {ddp_strategy(), Fault::operation_is_not_waited_for, "broadcast", true},
      {ddp_strategy(), Fault::operation_begins_at_once, "all_reduce"},
      {ddp_strategy(), Fault::operation_is_not_waited_for, "reduce_scatter"},
      {ddp_strategy(), Fault::operation_is_not_waited_for, "all_gather"},
      {ddp_strategy(), Fault::operation_begins_at_once, "reduce_scatter", false, false},
      {ddp_strategy(), Fault::operation_begins_at_once, "all_gather", false, false},
      {ddp_strategy(), Fault::operation_is_not_waited_for, "reduce_scatter", false, false},
      {ddp_strategy(), Fault::operation_is_not_waited_for, "all_gather", false, false},
      {ddp_flat_strategy(), Fault::operation_begins_at_once, "all_reduce"},
      {ddp_flat_strategy(), Fault::operation_is_not_waited_for, "all_reduce"},
      {ddp_central_strategy(), Fault::operation_begins_at_once, "reduce"},
      {ddp_central_strategy(), Fault::operation_begins_at_once, "broadcast"},
      {ddp_central_strategy(), Fault::operation_is_not_waited_for, "reduce"},
  }));
  CAPTURE(planted.row.name, planted.operation, static_cast<int>(planted.fault));
  RanksSpec spec = spec_of(planted.row, 2);
  spec.options.overlap = planted.overlaps;
  const Graph graph = planted.has_statistics ? conv_graph() : mlp_graph();
  const std::vector<Trained> expected = train_ranks_on_cpus(graph, spec, kSteps);
  bool shows = false;
  for (const Eagerness eagerness : kEveryEagerness) {
    const auto trained =
        train_deferred_ranks(graph, spec, kSteps, eagerness, planted.fault, planted.operation);
    for (std::size_t rank = 0; rank < trained.size(); ++rank)
      shows = shows || !same(trained[rank], expected[rank]);
  }
  CHECK(shows);
}

}  // namespace ptbench::testing

// The data-parallel strategies with threads as ranks: they compute what one serial replica computes
// that runs the ranks' micro-batches in turn, and slips in communication would be noticed.
#include "strategies/distributed.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/reference/reference_backend.h"
#include "src/comm/passing_communicator.h"
#include "src/device/isa.h"
#include "strategies/buckets.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/support/recording_communicator.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRankSteps = 4;
#else
constexpr int kRankSteps = 20;
#endif

std::vector<StrategyRow> rows() {
  return {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()};
}

Graph linear_graph() {
  return {.input_shape = {10},
          .classes = 2,
          .nodes = {{.name = "fc", .layer = LinearLayer{2}, .inputs = {-1}}}};
}

Graph deep_graph() {
  return {.input_shape = {20},
          .classes = 4,
          .nodes = {{.name = "fc1", .layer = LinearLayer{33}, .inputs = {-1}},
                    {.name = "relu1", .layer = ReluLayer{}, .inputs = {0}},
                    {.name = "fc2", .layer = LinearLayer{17}, .inputs = {1}},
                    {.name = "relu2", .layer = ReluLayer{}, .inputs = {2}},
                    {.name = "fc3", .layer = LinearLayer{4}, .inputs = {3}}}};
}

constexpr DdpOptions kTinyBuckets{.first_bucket_bytes = 64, .bucket_bytes = 256};

RanksSpec spec_of(const StrategyRow& row, Size world_size, const OptimizerSpec& optimizer,
                  const DdpOptions& options = kTinyBuckets) {
  return {.world_size = world_size,
          .row = row,
          .training = {.micro_batch = 6, .step = {.optimizer = optimizer}},
          .options = options};
}

struct Bounds {
  double loss = 1e-5;
  double parameters = 1e-4;
};
constexpr Bounds kBf16Bounds{.loss = 1e-2, .parameters = 5e-2};

bool are_equal(const std::vector<Trained>& ranks) {
  return std::ranges::all_of(ranks, [&](const Trained& rank) {
    return rank.losses == ranks.front().losses && rank.arena == ranks.front().arena &&
           rank.skipped == ranks.front().skipped;
  });
}

bool matches(const Trained& tested, const Trained& oracle, const Bounds& bounds) {
  const Apart apart = distance(tested, oracle);
  return apart.loss <= bounds.loss && apart.parameters <= bounds.parameters;
}

void check_matches_oracle(const Graph& graph, const RanksSpec& spec, const Bounds& bounds = {}) {
  CAPTURE(spec.row.name, spec.world_size, spec.training.step.accumulation_steps,
          name_of(spec.training.step.optimizer.kind), spec.options.bucket_bytes,
          spec.options.overlap);
  const std::vector<Trained> ranks = train_ranks(graph, spec, kRankSteps);
  CHECK(are_equal(ranks));
  const Apart apart = distance(ranks.front(), train_oracle(graph, spec, kRankSteps));
  CHECK(apart.loss <= bounds.loss);
  CHECK(apart.parameters <= bounds.parameters);
}

TEST_CASE("data parallel matches serial training on the ranks' micro-batches", "[strategies]") {
  const Graph graph = GENERATE(linear_graph(), deep_graph(), conv_graph());
  const auto optimizer = GENERATE(sgd(), adam());
  for (const StrategyRow& row : rows())
    for (const Size world_size : {1, 2, 3, 4})
      check_matches_oracle(graph, spec_of(row, world_size, optimizer));
}

TEST_CASE("data parallel adds up micro-batches before it communicates", "[strategies]") {
  const Graph graph = GENERATE(linear_graph(), deep_graph(), conv_graph());
  for (const StrategyRow& row : rows())
    for (const Size world_size : {1, 3}) {
      RanksSpec spec = spec_of(row, world_size, sgd());
      spec.training.step.accumulation_steps = 3;
      check_matches_oracle(graph, spec);
    }
}

TEST_CASE("buckets of all sizes, overlapped or not, give the same bits", "[strategies]") {
  const Graph graph = deep_graph();
  std::vector<Trained> all;
  for (const Bytes bucket_bytes : {Bytes{64}, Bytes{1000}, Bytes{1} << 30U})
    for (const bool overlap : {true, false}) {
      const RanksSpec spec = spec_of(ddp_strategy(), 3, sgd(),
                                     {.first_bucket_bytes = bucket_bytes / 2,
                                      .bucket_bytes = bucket_bytes,
                                      .overlap = overlap});
      check_matches_oracle(graph, spec);
      all.push_back(train_ranks(graph, spec, kRankSteps).front());
    }
  CHECK(are_equal(all));
}

TEST_CASE("data parallel needs no other ranks", "[strategies]") {
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    const RanksSpec spec = spec_of(row, 1, adam());
    CpuDevice device(discover_topology(), 2);
    const CpuBackend backend(device);
    HostMemorySource memory;
    SoloCommunicator alone(memory);
    ControlChannel control = control_alone(memory);
    RankTraining training(deep_graph(), spec, backend, alone, control);
    const Trained trained = train(training.strategy(), kRankSteps);
    CHECK(matches(trained, train_oracle(deep_graph(), spec, kRankSteps), {}));
  }
}

TEST_CASE("data parallel in bf16 stays within its bounds", "[strategies]") {
  require_bf16();
  for (const StrategyRow& row : rows())
    for (const Graph& graph : {deep_graph(), conv_graph()}) {
      RanksSpec spec = spec_of(row, 2, sgd());
      spec.training.type = ElementType::bf16;
      spec.training.step.accumulation_steps = 2;
      check_matches_oracle(graph, spec, kBf16Bounds);
    }
}

TEST_CASE("gradients in bf16 on the wire stay within its bounds", "[strategies]") {
  DdpOptions options = kTinyBuckets;
  options.wire = WireType::bf16;
  for (const StrategyRow& row : rows()) {
    const RanksSpec spec = spec_of(row, 3, sgd(), options);
    check_matches_oracle(deep_graph(), spec, kBf16Bounds);
    const RanksSpec wide = spec_of(row, 3, sgd());
    CHECK(train_ranks(deep_graph(), spec, 1).front().arena !=
          train_ranks(deep_graph(), wide, 1).front().arena);
  }
}

TEST_CASE("loss scaling changes nothing where gradients are finite", "[strategies]") {
  for (const StrategyRow& row : rows())
    for (const Size world_size : {1, 2, 4}) {
      RanksSpec spec = spec_of(row, world_size, sgd());
      const Trained plain = train_ranks(deep_graph(), spec, kRankSteps).front();
      spec.training.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
      check_matches_oracle(deep_graph(), spec);
      const Trained scaled = train_ranks(deep_graph(), spec, kRankSteps).front();
      CHECK(scaled.losses == plain.losses);
      CHECK(scaled.arena == plain.arena);
    }
}

/// The floats of a reduction.
std::span<float> floats_of(Values values) {
  return {reinterpret_cast<float*>(values.bytes.data()), static_cast<std::size_t>(values.count())};
}

/// Calls a function for the gradients of every reduction, before it is started.
class WatchedReductions : public PassingCommunicator {
 public:
  using Watch = std::function<void(int reduction, std::span<float> values)>;

  WatchedReductions(Communicator& inner, Watch watch)
      : PassingCommunicator(inner), watch_(std::move(watch)) {}

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    if (values.count() > 1) show(values);  // others are a loss, or a flag
    return inner().start_all_reduce(values, reduction, after);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    show(values);
    return inner().start_reduce_scatter(values, reduction, after);
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    show(values);
    return inner().start_reduce(values, root, reduction, after);
  }

 private:
  void show(Values values) { watch_(++reductions_, floats_of(values)); }

  Watch watch_;
  int reductions_ = 0;
};

TEST_CASE("a step that overflows on one rank is skipped on all", "[strategies]") {
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    RanksSpec spec = spec_of(row, 3, sgd());
    spec.training.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
    const Wrap overflow = [](Communicator& inner) {
      return std::make_unique<WatchedReductions>(
          inner, [&inner](int reduction, std::span<float> values) {
            constexpr int kOne = 2;
            if (inner.rank() == 1 && reduction == kOne)
              values.front() = std::numeric_limits<float>::infinity();
          });
    };
    const std::vector<Trained> ranks = train_ranks(deep_graph(), spec, 5, overflow);
    CHECK(are_equal(ranks));
    CHECK(ranks.front().skipped == 1);
    CHECK(std::ranges::all_of(ranks.front().arena, [](float p) { return std::isfinite(p); }));
  }
}

constexpr Size kPoisoned = 2;  // steps before it

/// Makes the gradients of one step no numbers: a parameter is none, for its time.
void poison(Strategy& strategy) {
  strategy.before_each_step([&strategy, kept = 0.0F]() mutable {
    Program& program = strategy.replica().program();
    float& parameter = program.parameters().front();
    if (strategy.steps() == kPoisoned)
      kept = std::exchange(parameter, std::numeric_limits<float>::infinity());
    else if (strategy.steps() == kPoisoned + 1)
      parameter = kept;
    else
      return;
    program.parameters_changed();
  });
}

/// The last of several ranks poisons itself.
std::vector<Trained> train_poisoned(const RanksSpec& spec, int steps) {
  std::vector<Trained> trained(static_cast<std::size_t>(spec.world_size));
  const Topology topology = discover_topology();
  ThreadGroup(spec.world_size).run([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    ControlChannel control = control_of(shared);
    RankTraining training(deep_graph(), spec, backend, shared, control);
    if (shared.rank() + 1 == spec.world_size) poison(training.strategy());
    trained[static_cast<std::size_t>(shared.rank())] = train(training.strategy(), steps);
  });
  return trained;
}

/// The ranks' micro-batches in turn on one replica, by hand: one step is not made, and not counted.
Trained train_without_one_update(const RanksSpec& spec, int steps) {
  RanksSpec serial = in_turn(spec);
  serial.training.step.loss_scale = {};
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  ControlChannel control = control_alone(memory);
  RankTraining training(deep_graph(), serial, backend, alone, control);
  Replica& replica = training.strategy().replica();
  Size updates = 0;
  for (Size step = 0; step < steps; ++step) {
    replica.compute_gradients([](Range, Program::ReadyMark) {});
    if (step != kPoisoned) replica.optimizer_step(replica.all(), ++updates);
  }
  return train(training.strategy(), 0);
}

TEST_CASE("Adam does not count a step that was skipped", "[strategies]") {
  constexpr int kFew = 6;  // in which its correction of biases is large
  for (const Size world_size : {1, 3}) {
    RanksSpec spec = spec_of(find_strategy("serial"), world_size, adam());
    spec.training.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
    const Trained oracle = train_without_one_update(spec, kFew);
    std::vector<StrategyRow> tested = rows();
    if (world_size == 1) tested.push_back(spec.row);
    for (const StrategyRow& row : tested) {
      CAPTURE(row.name, world_size);
      spec.row = row;
      for (const Trained& rank : train_poisoned(spec, kFew)) {
        CHECK(rank.skipped == 1);
        CHECK(std::isfinite(rank.losses.back()));
        CHECK(distance(rank, oracle).parameters <= Bounds{}.parameters);
      }
    }
  }
}

TEST_CASE("with overlap a bucket is on its way before backward ends", "[strategies]") {
  for (const bool overlap : {true, false}) {
    CAPTURE(overlap);
    const ReferenceBackend backend;
    RecordingCommunicator recording(2, 0, RecordingCommunicator::alike(2));
    // Gradients are zero until backward first comes to them; those of the first layer come last.
    std::vector<bool> was_unfinished;
    RankTraining* training = nullptr;
    WatchedReductions watched(recording, [&](int, std::span<float>) {
      const Range first_layer = training->program().plan().steps().front().arena;
      const std::span<const float> last =
          training->program().gradients().subspan(static_cast<std::size_t>(first_layer.begin),
                                                  static_cast<std::size_t>(first_layer.size()));
      was_unfinished.push_back(std::ranges::all_of(last, [](float g) { return g == 0; }));
    });
    RanksSpec spec = spec_of(ddp_strategy(), 2, sgd());
    spec.training.step.accumulation_steps = 1;
    spec.options.overlap = overlap;
    RecordedControl control;
    RankTraining own(deep_graph(), spec, backend, watched, control.channel);
    training = &own;
    (void)own.strategy().step();
    REQUIRE(was_unfinished.size() > 2);
    CHECK(was_unfinished.front() == overlap);
    CHECK_FALSE(was_unfinished.back());
  }
}

TEST_CASE("nothing is reduced before the last micro-batch", "[strategies]") {
  constexpr Size kMicroBatches = 3;
  const ReferenceBackend backend;
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    RecordingCommunicator alone(2, 0, RecordingCommunicator::alike(2));
    RecordingCommunicator several(2, 0, RecordingCommunicator::alike(2));
    RanksSpec spec = spec_of(row, 2, sgd());
    RecordedControl control;
    RankTraining once(deep_graph(), spec, backend, alone, control.channel);
    spec.training.step.accumulation_steps = kMicroBatches;
    RankTraining thrice(deep_graph(), spec, backend, several, control.channel);
    (void)once.strategy().step();
    (void)thrice.strategy().step();
    CHECK(several.texts() == alone.texts());
  }
}

/// What a strategy calls in its second step, waits aside.
std::vector<std::string> calls_of_step(const RanksSpec& spec, Size rank = 0) {
  const ReferenceBackend backend;
  RecordingCommunicator recording(spec.world_size, rank,
                                  RecordingCommunicator::alike(spec.world_size));
  RecordedControl control(spec.world_size, rank);
  RankTraining training(deep_graph(), spec, backend, recording, control.channel);
  (void)training.strategy().step();
  recording.forget();
  (void)training.strategy().step();
  CHECK(recording.outstanding() == 0);
  std::vector<std::string> calls;
  for (const RecordedCall& call : recording.calls()) {
    if (call.name == "wait" || call.name == "order")
      CHECK(call.timeout == spec.options.timeout);
    else
      calls.push_back(call.text());
  }
  return calls;
}

Size arena_elements() {
  const ReferenceBackend backend;
  return plan_of(deep_graph(), spec_of(ddp_strategy(), 2, sgd()), backend)->arena_elements();
}

TEST_CASE("ddp reduces, updates and gathers bucket by bucket", "[strategies]") {
  const ReferenceBackend backend;
  RanksSpec spec = spec_of(ddp_strategy(), 2, sgd());
  spec.options.bucket_bytes = 2048;
  spec.options.timeout = std::chrono::milliseconds(1234);
  const auto plan = plan_of(deep_graph(), spec, backend);
  std::vector<Range> announced;
  for (std::size_t i = plan->steps().size(); i-- > 0;)
    if (!plan->steps()[i].arena.empty()) announced.push_back(plan->steps()[i].arena);
  const std::vector<Range> buckets =
      plan_buckets(plan->arena_elements(), announced, spec.options.first_bucket_bytes, 2048);
  REQUIRE(buckets.size() > 2);
  std::vector<std::string> expected;
  for (const char* name : {"reduce_scatter ", "all_gather "})
    for (const Range& bucket : buckets) expected.push_back(name + std::to_string(bucket.size()));
  expected.emplace_back("all_reduce 1");
  CHECK(calls_of_step(spec) == expected);
  CHECK(calls_of_step(spec, 1) == expected);
}

TEST_CASE("flat and central strategies communicate everything at once", "[strategies]") {
  const std::string all = std::to_string(arena_elements());
  const std::string bytes = std::to_string(arena_elements() * 4);
  for (const Size rank : {0, 1}) {
    CHECK(calls_of_step(spec_of(ddp_flat_strategy(), 2, sgd()), rank) ==
          std::vector<std::string>{"all_reduce " + all, "all_reduce 1"});
    CHECK(calls_of_step(spec_of(ddp_central_strategy(), 2, sgd()), rank) ==
          std::vector<std::string>{"reduce " + all + " to 0", "broadcast " + bytes + " from 0",
                                   "all_reduce 1"});
  }
}

TEST_CASE("with loss scaling all is reduced and agreed on before anything is updated",
          "[strategies]") {
  const std::string all = std::to_string(arena_elements());
  const std::string bytes = std::to_string(arena_elements() * 4);
  const auto calls = [](const StrategyRow& row) {
    RanksSpec spec = spec_of(
        row, 2, sgd(), {.first_bucket_bytes = Bytes{1} << 20U, .bucket_bytes = Bytes{1} << 20U});
    spec.training.step.loss_scale = {.kind = LossScaling::fixed, .value = 8};
    return calls_of_step(spec);
  };
  CHECK(calls(ddp_strategy()) == std::vector<std::string>{"reduce_scatter " + all, "all_reduce 1",
                                                          "all_gather " + all, "all_reduce 1"});
  CHECK(calls(ddp_flat_strategy()) ==
        std::vector<std::string>{"all_reduce " + all, "all_reduce 1", "all_reduce 1"});
  CHECK(calls(ddp_central_strategy()) ==
        std::vector<std::string>{"reduce " + all + " to 0", "all_reduce 1",
                                 "broadcast " + bytes + " from 0", "all_reduce 1"});
}

TEST_CASE("parameters are compared when a strategy is made and sent before its first step",
          "[strategies]") {
  const ReferenceBackend backend;
  const std::string bytes = std::to_string(arena_elements() * 4);
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    RecordingCommunicator recording(2, 0, RecordingCommunicator::alike(2));
    RecordedControl control;
    RankTraining training(deep_graph(), spec_of(row, 2, sgd()), backend, recording,
                          control.channel);
    CHECK(recording.calls().empty());
    CHECK(control.recording.texts() ==
          std::vector<std::string>{"gather 8 to 0", "wait 1", "broadcast 16 from 0", "wait 2",
                                   "gather 152 to 0", "wait 3", "broadcast 304 from 0", "wait 4"});
    (void)training.strategy().step();
    CHECK(recording.calls().front().text() == "broadcast " + bytes + " from 0");
  }
}

TEST_CASE("communication is a phase of its own", "[strategies]") {
  const ReferenceBackend backend;
  const SteadyClock clock;
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    RecordingCommunicator recording(2, 0, RecordingCommunicator::alike(2));
    RecordedControl control;
    RankTraining training(deep_graph(), spec_of(row, 2, sgd()), backend, recording,
                          control.channel);
    PhaseTimer timer(clock);
    training.strategy().observe(&timer);
    for (int step = 0; step < 3; ++step) (void)training.strategy().step();
    training.strategy().observe(nullptr);
    const PhasesRecord phases = timer.means();
    REQUIRE(phases.communication.has_value());
    REQUIRE(phases.optimizer.has_value());
    CHECK(*phases.data + *phases.forward + *phases.backward + *phases.optimizer +
              *phases.communication + *phases.other ==
          Approx(timer.step_seconds()));
  }
}

enum class Slip { none, skips_reduction, reduces_twice, scales, skips_update, first_weights };

std::string name_of(Slip slip) {
  switch (slip) {
    case Slip::none: return "none";
    case Slip::skips_reduction: return "skips a reduction";
    case Slip::reduces_twice: return "reduces twice";
    case Slip::scales: return "scales";
    case Slip::skips_update: return "leaves parameters as they were";
    case Slip::first_weights: return "begins with other weights";
  }
  return {};
}

/// Who slips, and when.
struct Slipping {
  Slip slip = Slip::none;
  std::optional<Size> rank;  ///< empty: all ranks alike
  int when = 2;              ///< which operation of its kind it is
};

/// Makes one slip, once. Every operation is taken part in, so that no rank waits for another in
/// vain; what a rank skips is to take the result.
class SlippingCommunicator final : public PassingCommunicator {
 public:
  SlippingCommunicator(Communicator& inner, const Slipping& slipping)
      : PassingCommunicator(inner),
        slip_(slipping.rank.value_or(inner.rank()) == inner.rank() ? slipping.slip : Slip::none),
        when_(slipping.when) {}

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    const auto start = [&] { return inner().start_all_reduce(values, reduction, after); };
    return values.count() == 1 ? start() : reduce(values, start);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    return reduce(values, [&] { return inner().start_reduce_scatter(values, reduction, after); });
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    return reduce(values, [&] { return inner().start_reduce(values, root, reduction, after); });
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override {
    const bool slips = slip_ == Slip::skips_update && ++gathers_ == when_;
    return start(values.bytes, slips, [&] { return inner().start_all_gather(values, after); });
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    constexpr int kFirstWeights = 1;
    ++broadcasts_;
    const bool slips = (slip_ == Slip::first_weights && broadcasts_ == kFirstWeights) ||
                       (slip_ == Slip::skips_update && broadcasts_ == kFirstWeights + when_);
    return start(bytes, slips, [&] { return inner().start_broadcast(bytes, root, after); });
  }
  void wait(Ticket ticket, Timeout timeout) override {
    inner().wait(ticket, timeout);
    leave_stale(ticket);
  }
  void order(Queue& queue, Ticket ticket, Timeout timeout) override {
    inner().order(queue, ticket, timeout);
    leave_stale(ticket);
  }

 private:
  /// On CPUs an operation has been waited for once a queue is ordered after it.
  void leave_stale(Ticket ticket) {
    if (!stale_ || ticket < stale_->ticket) return;
    std::ranges::copy(stale_->before, stale_->bytes.begin());
    stale_.reset();
  }

  /// What lay where the result of an operation is not taken.
  struct Stale {
    Ticket ticket{};
    std::span<std::byte> bytes;
    std::vector<std::byte> before;
  };

  template <class Start>
  Ticket start(std::span<std::byte> bytes, bool slips, const Start& start) {
    if (!slips) return start();
    std::vector<std::byte> before(bytes.begin(), bytes.end());
    const Ticket ticket = start();
    stale_ = {.ticket = ticket, .bytes = bytes, .before = std::move(before)};
    return ticket;
  }

  template <class Start>
  Ticket reduce(Values values, const Start& start_reduction) {
    const bool slips = ++reductions_ == when_;
    if (slips && slip_ == Slip::scales)
      for (float& value : floats_of(values)) value /= static_cast<float>(world_size());
    const Ticket ticket =
        start(values.bytes, slips && slip_ == Slip::skips_reduction, start_reduction);
    return slips && slip_ == Slip::reduces_twice ? start_reduction() : ticket;
  }

  Slip slip_;
  int when_;
  std::optional<Stale> stale_;
  int reductions_ = 0;
  int gathers_ = 0;
  int broadcasts_ = 0;
};

Wrap slipping(const Slipping& slipping) {
  return [slipping](Communicator& inner) {
    return std::make_unique<SlippingCommunicator>(inner, slipping);
  };
}

bool can_slip(const StrategyRow& row, const Slipping& slipping) {
  if (slipping.slip == Slip::skips_update) return row.name != "ddp-flat";  // sends no parameters
  if (!slipping.rank) return true;
  // All have to reduce as often, and of ddp-central's sums only the root takes any.
  if (slipping.slip == Slip::skips_reduction) return row.name != "ddp-central";
  return slipping.slip != Slip::reduces_twice;
}

TEST_CASE("one slip in communication is found by verification", "[strategies]") {
  for (const StrategyRow& row : rows()) {
    const RanksSpec spec =
        spec_of(row, 2, sgd(), {.first_bucket_bytes = 1024, .bucket_bytes = 4096});
    for (const Slip slip : {Slip::none, Slip::skips_reduction, Slip::reduces_twice, Slip::scales,
                            Slip::skips_update, Slip::first_weights})
      for (const std::optional<Size> rank : {std::optional<Size>(), std::optional<Size>(1)}) {
        const Slipping one{.slip = slip, .rank = rank};
        if (!can_slip(row, one)) continue;
        const VerificationRecord record = verify_ranks(deep_graph(), spec, slipping(one));
        CAPTURE(row.name, name_of(slip), rank.has_value(), record.reason.value_or(""));
        CHECK((record.status == VerificationStatus::passed) == (slip == Slip::none));
      }
  }
}

/// Makes rank 1 forget its update of step `when`, from 0: it has the parameters from before.
Spoil forgetting(Size when) {
  return [when](Strategy& strategy, Size rank) {
    if (rank != 1) return;
    strategy.before_each_step([&strategy, when, kept = std::vector<float>()]() mutable {
      Program& program = strategy.replica().program();
      if (strategy.steps() == when)
        kept.assign(program.parameters().begin(), program.parameters().end());
      if (strategy.steps() != when + 1) return;
      std::ranges::copy(kept, program.parameters().begin());
      program.parameters_changed();
    });
  };
}

TEST_CASE("an update that one rank forgets is found by verification", "[strategies]") {
  for (const StrategyRow& row : rows())
    for (const Size when : {Size{1}, kAppliedSteps - 2}) {
      const VerificationRecord record =
          verify_ranks(deep_graph(), spec_of(row, 2, sgd()), {}, forgetting(when));
      CAPTURE(row.name, when, record.reason.value_or(""));
      CHECK(record.status == VerificationStatus::failed);
    }
}

TEST_CASE("a last update that differs on one rank is found by verification", "[strategies]") {
  for (const StrategyRow& row : rows()) {
    // In one piece, so that there is one operation of a kind in each step.
    const RanksSpec spec = spec_of(
        row, 3, sgd(), {.first_bucket_bytes = Bytes{1} << 20U, .bucket_bytes = Bytes{1} << 20U});
    const Slip slip = row.name == "ddp-flat" ? Slip::skips_reduction : Slip::skips_update;
    const VerificationRecord record =
        verify_ranks(deep_graph(), spec,
                     slipping({.slip = slip, .rank = 1, .when = static_cast<int>(kAppliedSteps)}));
    CAPTURE(row.name);
    CHECK(record.status == VerificationStatus::failed);
    CHECK(record.steps == kAppliedSteps);
    CHECK_THAT(record.reason.value_or(""), Catch::Contains("the parameters of rank 1 differ"));
  }
}

/// What each of two ranks says that are made with different models.
std::vector<std::string> messages_of(const Graph& first, const Graph& second,
                                     const std::function<void(RanksSpec&)>& change_second) {
  const Topology topology = discover_topology();
  std::vector<std::string> messages;
  const ThreadGroup group(2);
  const auto failures = group.failures([&](SharedMemoryCommunicator& shared) {
    RanksSpec spec = spec_of(ddp_strategy(), 2, sgd());
    if (shared.rank() == 1) change_second(spec);
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    ControlChannel control = control_of(shared);
    RankTraining training(shared.rank() == 0 ? first : second, spec, backend, shared, control);
  });
  for (const std::exception_ptr& failure : failures) messages.push_back(message_of(failure));
  return messages;
}

TEST_CASE("ranks with different models are told what differs", "[strategies]") {
  const auto check = [](const std::vector<std::string>& messages, const std::string& what) {
    for (const std::string& message : messages) {
      CHECK_THAT(message, Catch::Contains("ranks 0 and 1"));
      CHECK_THAT(message, Catch::Contains(what));
    }
  };
  const auto same = [](RanksSpec&) {};
  Graph renamed = deep_graph();
  renamed.nodes.back().name = "head";
  check(messages_of(deep_graph(), renamed, same), "names of their parameters");
  Graph wider = deep_graph();
  wider.nodes.front().layer = LinearLayer{34};
  check(messages_of(deep_graph(), wider, same), "shapes of their parameters");
  check(
      messages_of(deep_graph(), deep_graph(), [](RanksSpec& spec) { ++spec.training.micro_batch; }),
      "global batches");
}

TEST_CASE("ranks that train one model differently are told what differs", "[strategies]") {
  struct Change {
    const char* what;
    std::function<void(RanksSpec&)> make;
  };
  const std::vector<Change> changes{
      {"optimizers", [](RanksSpec& s) { s.training.step.optimizer.kind = OptimizerKind::adam; }},
      {"learning rates", [](RanksSpec& s) { s.training.step.optimizer.lr = 0.02; }},
      {"momenta", [](RanksSpec& s) { s.training.step.optimizer.momentum = 0.8; }},
      {"weight decays", [](RanksSpec& s) { s.training.step.optimizer.weight_decay = 0; }},
      {"first betas", [](RanksSpec& s) { s.training.step.optimizer.beta1 = 0.8; }},
      {"second betas", [](RanksSpec& s) { s.training.step.optimizer.beta2 = 0.9; }},
      {"epsilons", [](RanksSpec& s) { s.training.step.optimizer.epsilon = 1e-6; }},
      {"kinds of loss scaling",
       [](RanksSpec& s) { s.training.step.loss_scale.kind = LossScaling::fixed; }},
      {"loss scales", [](RanksSpec& s) { s.training.step.loss_scale.value = 8; }},
      {"accumulation steps", [](RanksSpec& s) { s.training.step.accumulation_steps = 2; }},
      {"types of gradients on the wire", [](RanksSpec& s) { s.options.wire = WireType::bf16; }},
      {"sizes of the first bucket", [](RanksSpec& s) { s.options.first_bucket_bytes *= 2; }},
      {"sizes of the other buckets", [](RanksSpec& s) { s.options.bucket_bytes *= 2; }},
      {"choices of overlap", [](RanksSpec& s) { s.options.overlap = !s.options.overlap; }}};
  for (const Change& change : changes) {
    const std::string expected =
        std::string("ranks 0 and 1 do not train alike: the ") + change.what;
    for (const std::string& message : messages_of(deep_graph(), deep_graph(), change.make))
      CHECK_THAT(message, Catch::StartsWith(expected) && Catch::EndsWith(" differ"));
  }
}

TEST_CASE("a plan for another number of ranks is a defect", "[strategies]") {
  const Topology topology = discover_topology();
  const auto failures = ThreadGroup(2).failures([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    ControlChannel control = control_of(shared);
    const RankTraining training(deep_graph(), spec_of(ddp_strategy(), 3, sgd()), backend, shared,
                                control);
  });
  for (const std::exception_ptr& failure : failures)
    CHECK_THAT(message_of(failure), Catch::Contains("add up to the plan's global batch"));
}

TEST_CASE("a rank that never comes is an error within the timeout", "[strategies]") {
  const Topology topology = discover_topology();
  for (const StrategyRow& row : rows()) {
    CAPTURE(row.name);
    RanksSpec spec = spec_of(row, 2, sgd());
    spec.options.timeout = std::chrono::milliseconds(200);
    const auto failures = ThreadGroup(2).failures([&](SharedMemoryCommunicator& shared) {
      if (shared.rank() == 1) return;
      CpuDevice device(topology, 1);
      const CpuBackend backend(device);
      ControlChannel control = control_of(shared);
      const RankTraining training(deep_graph(), spec, backend, shared, control);
    });
    CHECK_THAT(message_of(failures[0]), Catch::Contains("rank 1 did not come within 0.2 s"));
  }
}

TEST_CASE("a rank that stays away after some steps is an error within the timeout",
          "[strategies]") {
  const Topology topology = discover_topology();
  RanksSpec spec = spec_of(ddp_strategy(), 3, sgd());
  spec.options.timeout = std::chrono::seconds(1);
  const auto failures = ThreadGroup(3).failures([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    ControlChannel control = control_of(shared);
    RankTraining training(deep_graph(), spec, backend, shared, control);
    const int steps = shared.rank() == 2 ? 3 : 4;
    for (int step = 0; step < steps; ++step) (void)training.strategy().step();
  });
  CHECK(failures[2] == nullptr);
  // Both others wait in vain; the first one whose time is up says so to the other.
  for (const std::size_t rank : {0U, 1U})
    CHECK_THAT(message_of(failures[rank]), Catch::Contains("rank 2 did not come"));
}

TEST_CASE("what ends one rank ends the others, who name it", "[strategies]") {
  const Topology topology = discover_topology();
  const auto failures = ThreadGroup(2).failures([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    WatchedReductions watched(shared, [&](int reduction, std::span<float>) {
      constexpr int kSome = 5;
      if (shared.rank() == 1 && reduction == kSome) throw std::runtime_error("out of luck");
    });
    ControlChannel control = control_of(shared);
    RankTraining training(deep_graph(), spec_of(ddp_strategy(), 2, sgd()), backend, watched,
                          control);
    for (int step = 0; step < 4; ++step) (void)training.strategy().step();
  });
  CHECK(message_of(failures[1]) == "out of luck");
  CHECK_THAT(message_of(failures[0]), Catch::Contains("rank 1 gave up"));
}

TEST_CASE("a data-parallel strategy takes one replica a rank", "[strategies]") {
  for (const StrategyRow& row : rows()) {
    RecordingCommunicator recording;
    RecordedControl control;
    CHECK_THROWS_AS(
        row.build({.replicas = {}, .communicator = recording, .control = control.channel}), Defect);
    CHECK(row.several_ranks);
  }
}

}  // namespace
}  // namespace ptbench::testing

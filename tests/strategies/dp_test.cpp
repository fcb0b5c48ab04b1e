// Data parallelism in one process: it computes what one serial replica computes that runs the
// replicas' micro-batches in turn, and slips between the replicas would be noticed.
#include "strategies/dp.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/device/isa.h"
#include "strategies/drag.h"
#include "strategies/verify.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/strategies/verification.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kReplicaSteps = 4;
#else
constexpr int kReplicaSteps = 20;
#endif

TrainingSpec spec_of(Size replicas, const OptimizerSpec& optimizer = sgd()) {
  return {
      .micro_batch = 6, .step = {.optimizer = optimizer}, .strategy = "dp", .replicas = replicas};
}

/// One replica that runs the micro-batches of all in turn.
TrainingSpec in_turn(TrainingSpec spec) {
  spec.strategy = "serial";
  spec.samples = spec.samples > 0 ? spec.samples : 3 * spec.global_batch() + 1;
  spec.step.accumulation_steps *= std::exchange(spec.replicas, 1);
  return spec;
}

Trained train_on_cpu(const Graph& graph, const TrainingSpec& spec, int steps = kReplicaSteps) {
  CpuDevice device(discover_topology(), spec.threads);
  const CpuBackend backend(device);
  Training training(backend, graph, spec);
  return train(training.strategy(), steps);
}

struct ReplicaBounds {
  double loss = 1e-5;
  double parameters = 1e-4;
};
constexpr ReplicaBounds kReplicaBf16Bounds{.loss = 1e-2, .parameters = 5e-2};

void check_matches_oracle(const Graph& graph, const TrainingSpec& spec,
                          const ReplicaBounds& bounds = {}) {
  CAPTURE(spec.replicas, spec.threads, spec.step.accumulation_steps, spec.samples,
          name_of(spec.step.optimizer.kind));
  const Apart apart = distance(train_on_cpu(graph, spec), train_on_cpu(graph, in_turn(spec)));
  CHECK(apart.loss <= bounds.loss);
  CHECK(apart.parameters <= bounds.parameters);
}

TEST_CASE("dp matches serial training on the replicas' micro-batches", "[strategies]") {
  const Graph graph = GENERATE(mlp_graph(), conv_graph());
  const auto optimizer = GENERATE(sgd(), adam());
  for (const Size replicas : {1, 2, 3, 4})
    check_matches_oracle(graph, spec_of(replicas, optimizer));
}

TEST_CASE("dp matches plain loops that take the global batch at once", "[strategies]") {
  const ReferenceBackend reference;
  for (const Size replicas : {1, 3}) {
    const TrainingSpec spec = spec_of(replicas);
    TrainingSpec whole = in_turn(spec);
    whole.micro_batch = spec.global_batch();
    whole.step.accumulation_steps = 1;
    Training oracle(reference, mlp_graph(), whole);
    const Apart apart =
        distance(train_on_cpu(mlp_graph(), spec), train(oracle.strategy(), kReplicaSteps));
    CHECK(apart.loss <= 1e-5);
    CHECK(apart.parameters <= 1e-4);
  }
}

TEST_CASE("dp's replicas have teams", "[strategies]") {
  TrainingSpec spec = spec_of(2);
  spec.threads = 2;
  check_matches_oracle(GENERATE(mlp_graph(), conv_graph()), spec);
}

TEST_CASE("members of dp's teams share the copying of large batches", "[strategies]") {
  Graph wide = mlp_graph();
  wide.input_shape = {7001};
  TrainingSpec spec = spec_of(2, {.lr = 1e-3});
  spec.threads = 2;
  check_matches_oracle(wide, spec);
}

TEST_CASE("dp reduces every micro-batch to the master", "[strategies]") {
  const Graph graph = GENERATE(mlp_graph(), conv_graph());
  for (const Size replicas : {1, 3}) {
    TrainingSpec spec = spec_of(replicas);
    spec.step.accumulation_steps = 3;
    check_matches_oracle(graph, spec);
  }
}

TEST_CASE("dp leaves out the samples after an epoch's last global batch", "[strategies]") {
  for (const Size left_out : {0, 5, 17}) {
    TrainingSpec spec = spec_of(3);
    spec.samples = 2 * spec.global_batch() + left_out;
    check_matches_oracle(mlp_graph(), spec);
  }
}

TEST_CASE("dp in bf16 stays within its bounds", "[strategies]") {
  require_bf16();
  for (const Graph& graph : {mlp_graph(), conv_graph()}) {
    TrainingSpec spec = spec_of(2);
    spec.type = ElementType::bf16;
    spec.step.accumulation_steps = 2;
    spec.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
    check_matches_oracle(graph, spec, kReplicaBf16Bounds);
  }
}

TEST_CASE("loss scaling changes nothing in dp where gradients are finite", "[strategies]") {
  for (const Size replicas : {1, 3}) {
    TrainingSpec spec = spec_of(replicas);
    const Trained plain = train_on_cpu(mlp_graph(), spec);
    spec.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
    const Trained scaled = train_on_cpu(mlp_graph(), spec);
    CHECK(scaled.losses == plain.losses);
    CHECK(scaled.arena == plain.arena);
    CHECK(scaled.skipped == 0);
  }
}

TEST_CASE("dp repeats itself bit by bit", "[strategies]") {
  const TrainingSpec spec = spec_of(3);
  const Trained first = train_on_cpu(conv_graph(), spec);
  const Trained second = train_on_cpu(conv_graph(), spec);
  CHECK(first.losses == second.losses);
  CHECK(first.arena == second.arena);
}

std::vector<NamedTensor> statistics_after_a_step(const TrainingSpec& spec) {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  Training training(backend, conv_graph(), spec);
  (void)training.losses(1);
  std::vector<NamedTensor> statistics = training.program().export_tensors();
  std::erase_if(statistics, [](const NamedTensor& tensor) {
    return tensor.name.find(".running_") == std::string::npos;
  });
  return statistics;
}

TEST_CASE("only the first replica's running statistics last", "[strategies]") {
  const TrainingSpec spec = spec_of(2);
  TrainingSpec first_alone = in_turn(spec);
  first_alone.step.accumulation_steps = 1;
  const auto kept = statistics_after_a_step(spec);
  const auto expected = statistics_after_a_step(first_alone);
  REQUIRE(kept.size() == 2);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].values == expected[i].values);
}

/// What a test does to an operator of one replica.
struct Tampering {
  /// Before the operator has its memory, which outlives what is put into `memory`.
  std::function<void(Bindings& bindings, std::vector<Buffer>& memory)> bind = [](auto&, auto&) {};
  std::function<void(const Bindings& bindings)> before_forward = [](const auto&) {};
  std::function<void(const Bindings& bindings)> after_backward = [](const auto&) {};
};

class TamperedOperator final : public Operator {
 public:
  TamperedOperator(const Tampering& tampering, Bindings original, const OperatorPlan& plan)
      : tampering_(tampering), bindings_(std::move(original)) {
    tampering_.bind(bindings_, memory_);
    inner_ = plan.bind(bindings_);
  }

  void forward() override {
    tampering_.before_forward(bindings_);
    inner_->forward();
  }
  void backward(GradientMode mode) override {
    inner_->backward(mode);
    tampering_.after_backward(bindings_);
  }
  void parameters_changed() override { inner_->parameters_changed(); }

 private:
  const Tampering& tampering_;
  Bindings bindings_;
  std::vector<Buffer> memory_;
  std::unique_ptr<Operator> inner_;
};

class TamperedPlan final : public OperatorPlan {
 public:
  TamperedPlan(const Tampering& tampering, std::unique_ptr<OperatorPlan> inner)
      : tampering_(tampering), inner_(std::move(inner)) {}

  [[nodiscard]] ParameterLayout layout() const override { return inner_->layout(); }
  [[nodiscard]] Bytes prepared_bytes() const override { return inner_->prepared_bytes(); }
  [[nodiscard]] Bytes saved_bytes() const override { return inner_->saved_bytes(); }
  [[nodiscard]] Bytes scratch_bytes() const override { return inner_->scratch_bytes(); }
  [[nodiscard]] Bytes addend_bytes() const override { return inner_->addend_bytes(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    inner_->import_parameters(tensors, arena);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    inner_->export_parameters(arena, tensors);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<TamperedOperator>(tampering_, bindings, *inner_);
  }

 private:
  const Tampering& tampering_;
  std::unique_ptr<OperatorPlan> inner_;
};

/// Plain loops of which those with parameters are tampered with.
class TamperedBackend final : public KernelBackend {
 public:
  explicit TamperedBackend(Tampering tampering) : tampering_(std::move(tampering)) {}

  [[nodiscard]] Device& device() const override { return reference_.device(); }
  [[nodiscard]] std::string name() const override { return reference_.name(); }
  [[nodiscard]] std::string fingerprint() const override { return reference_.fingerprint(); }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override {
    return reference_.candidates(spec);
  }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override {
    auto inner = reference_.plan(spec, candidate);
    if (parameters_of(spec).empty()) return inner;
    return std::make_unique<TamperedPlan>(tampering_, std::move(inner));
  }
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override {
    return reference_.plan_optimizer(spec, arenas, owned);
  }
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> gradients, const std::vector<OwnedRange>& owned) const override {
    return reference_.plan_arena_passes(gradients, owned);
  }

 private:
  Tampering tampering_;
  ReferenceBackend reference_;
};

/// Two replicas on plain loops, of which the second is tampered with.
class TamperedTraining {
 public:
  explicit TamperedTraining(Tampering tampering, const StepSpec& step = {.optimizer = sgd()},
                            double slowdown = 1)
      : spec_(spec_of(2)),
        tampered_(std::move(tampering)),
        communicator_(memory_),
        control_(std::make_unique<SoloCommunicator>(memory_)),
        data_(synthetic_data({.sample_shape = graph_.input_shape,
                              .classes = graph_.classes,
                              .samples = 3 * spec_.global_batch() + 1,
                              .seed = 1})) {
    spec_.step = step;
    StrategyContext context{.communicator = communicator_, .control = control_};
    auto second = std::make_unique<Program>(plan_of(tampered_), memory_);
    Device& device = second->device();
    context.group.others.push_back(
        {.program = std::move(second),
         .driver = &driver_,
         .observer = dragging(Drag(slowdown - 1, clock_, threads_of(device)), device)});
    strategy_ =
        build_over(dp_strategy(), std::make_unique<Replica>(plan_of(reference_), step, memory_),
                   batches_of(data_, {.micro_batch = spec_.micro_batch * spec_.replicas,
                                      .accumulation_steps = spec_.step.accumulation_steps}),
                   std::move(context));
    strategy_->replica().program().initialise(0);
  }

  [[nodiscard]] Strategy& strategy() { return *strategy_; }

  /// Against a serial replica with the same data.
  [[nodiscard]] VerificationRecord verified() {
    Training oracle(reference_, graph_, in_turn(spec_));
    return verify_alone(*strategy_, oracle.strategy());
  }

 private:
  std::shared_ptr<const ProgramPlan> plan_of(const KernelBackend& backend) const {
    const Lowering lowering{.batch = spec_.micro_batch, .global_batch = spec_.global_batch()};
    const LoweredGraph lowered = lower(graph_, lowering);
    Choices choices = first_choices(lowered, backend);
    const OperatorSpec loss = gathered_loss(lowered, spec_.replicas);
    choices[key_of(loss)] = backend.candidates(loss).front();
    return std::make_shared<const ProgramPlan>(graph_, lowering, backend, choices);
  }

  Graph graph_ = mlp_graph();
  TrainingSpec spec_;
  HostMemorySource memory_;
  ReferenceBackend reference_;
  TamperedBackend tampered_;
  DriverThread driver_{DriverThread::Waiting::sleep};
  SteadyClock clock_;
  SoloCommunicator communicator_;
  ControlChannel control_;
  DataSource data_;
  std::unique_ptr<Strategy> strategy_;
};

/// Memory of the test's own in place of what the operator was given.
template <class T>
std::span<T> own_memory(std::span<T> given, std::vector<Buffer>& memory) {
  HostMemorySource source;
  memory.push_back(source.allocate(given.size_bytes(), "a test"));
  return memory.back().as<std::remove_const_t<T>>();
}

TEST_CASE("verification passes where nobody tampers with a replica", "[strategies]") {
  CHECK(TamperedTraining({}).verified().status == VerificationStatus::passed);
}

TEST_CASE("verification catches a replica with stale parameters", "[strategies]") {
  Tampering stale;
  std::vector<std::pair<const float*, std::span<float>>> copies;
  stale.bind = [&](Bindings& bindings, std::vector<Buffer>& memory) {
    const float* replicated = bindings.parameters.data();
    const std::span<const float> own = own_memory(bindings.parameters, memory);
    bindings.parameters = own;
    copies.emplace_back(replicated, memory.back().as<float>());
  };
  // Those of the first step are kept.
  stale.before_forward = [&](const Bindings& bindings) {
    for (const auto& [replicated, copy] : copies)
      if (copy.data() == bindings.parameters.data() &&
          std::ranges::all_of(copy, [](float value) { return value == 0; }))
        std::copy_n(replicated, copy.size(), copy.begin());
  };
  const VerificationRecord record = TamperedTraining(stale).verified();
  CHECK(record.status == VerificationStatus::failed);
  CHECK(record.steps > 1);
}

TEST_CASE("verification catches gradients of a replica that are not reduced", "[strategies]") {
  Tampering unreduced;
  unreduced.bind = [](Bindings& bindings, std::vector<Buffer>& memory) {
    bindings.gradients = own_memory(bindings.gradients, memory);
  };
  CHECK(TamperedTraining(unreduced).verified().status == VerificationStatus::failed);
}

TEST_CASE("dp skips a step whose gradients overflow on one replica", "[strategies]") {
  constexpr int kOverflows = 3;
  int passes = 0;
  Tampering overflow;
  overflow.after_backward = [&](const Bindings& bindings) {
    if (++passes == kOverflows) bindings.gradients.front() = std::numeric_limits<float>::infinity();
  };
  TamperedTraining training(
      overflow, {.optimizer = sgd(), .loss_scale = {.kind = LossScaling::dynamic, .value = 1}});
  const auto parameters = [&] {
    const std::span<const float> all = training.strategy().replica().program().parameters();
    return std::vector<float>(all.begin(), all.end());
  };
  const LossScaler& scaler = training.strategy().replica().scaler();
  (void)training.strategy().step();
  const std::vector<float> before = parameters();
  CHECK(scaler.skipped() == 0);
  (void)training.strategy().step();  // two operators a step
  CHECK(scaler.skipped() == 1);
  CHECK(scaler.scale() == LossScaler::kFirstScale / 2);
  CHECK(parameters() == before);
  (void)training.strategy().step();
  CHECK(scaler.skipped() == 1);
  CHECK(parameters() != before);
}

TEST_CASE("what a replica throws ends the step, and dp can go on", "[strategies]") {
  std::atomic<bool> fails = false;
  Tampering failing;
  failing.before_forward = [&](const Bindings&) {
    if (fails) throw std::runtime_error("out of luck");
  };
  TamperedTraining training(failing);
  (void)training.strategy().step();
  fails = true;
  CHECK_THROWS_WITH(training.strategy().step(), "out of luck");
  fails = false;
  CHECK(std::isfinite(training.strategy().step()));
}

TEST_CASE("the phases of dp are its own and add up to the step", "[strategies]") {
  for (const Size replicas : {1, 3}) {
    CAPTURE(replicas);
    CpuDevice device(discover_topology(), 1);
    const CpuBackend backend(device);
    TrainingSpec spec = spec_of(replicas);
    spec.step.accumulation_steps = 2;
    Training training(backend, mlp_graph(), spec);
    const SteadyClock clock;
    PhaseTimer timer(clock);
    training.strategy().observe(&timer);
    (void)training.losses(5);
    const PhasesRecord phases = timer.means();
    double sum = *phases.other;
    for (const auto& phase : {phases.data, phases.scatter, phases.replicate, phases.forward,
                              phases.gather, phases.backward, phases.reduce, phases.optimizer}) {
      REQUIRE(phase.has_value());
      CHECK(*phase > 0);
      sum += *phase;
    }
    CHECK(sum == Approx(timer.step_seconds()));
    CHECK_FALSE(phases.communication.has_value());
  }
}

TEST_CASE("dp tells how long each replica computed and waited for slower ones", "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  Training training(backend, mlp_graph(), spec_of(3));
  const SteadyClock clock;
  PhaseTimer timer(clock);
  CHECK(training.strategy().replica_seconds().empty());
  training.strategy().observe(&timer);
  CHECK(training.strategy().replica_seconds().empty());
  (void)training.losses(5);
  const std::vector<ReplicaSeconds> seconds = training.strategy().replica_seconds();
  REQUIRE(seconds.size() == 3);
  for (const ReplicaSeconds& replica : seconds) {
    CHECK(replica.compute > 0);
    CHECK(replica.wait >= 0);
    CHECK(replica.compute + replica.wait <= timer.step_seconds());
  }
  training.strategy().observe(nullptr);
  CHECK(training.strategy().replica_seconds().empty());
}

TEST_CASE("a slow replica computes the same, and the others wait for it", "[strategies]") {
  TamperedTraining slow({}, {.optimizer = sgd()}, 50);
  TamperedTraining usual({});
  const SteadyClock clock;
  PhaseTimer timer(clock);
  slow.strategy().observe(&timer);
  for (int step = 0; step < 5; ++step) CHECK(slow.strategy().step() == usual.strategy().step());
  const std::vector<ReplicaSeconds> seconds = slow.strategy().replica_seconds();
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[0].wait > 0);
}

TEST_CASE("observing dp changes no result", "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  Training observed(backend, mlp_graph(), spec_of(2));
  Training alone(backend, mlp_graph(), spec_of(2));
  const SteadyClock clock;
  PhaseTimer timer(clock);
  observed.strategy().observe(&timer);
  CHECK(observed.losses(5) == alone.losses(5));
}

TEST_CASE("replicas that are planned for other devices are refused", "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  TrainingSpec spec = spec_of(2);
  spec.threads = 2;
  CHECK_THROWS_AS(Training(backend, mlp_graph(), spec), Defect);
}

TEST_CASE("dp is replicas of one process", "[strategies]") {
  const StrategyRow row = dp_strategy();
  CHECK(row.several_ranks);
  CHECK(row.one_process);
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  ControlChannel control(std::make_unique<SoloCommunicator>(memory));
  CHECK_THROWS_AS(row.build({.replicas = {}, .communicator = alone, .control = control}), Defect);
}

TEST_CASE("dp's memory grows with its replicas", "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  Training training(backend, mlp_graph(), spec_of(2));
  const ProgramPlan& plan = training.program().plan();
  const HostMemorySource source;
  const Bytes one = plan.memory({.momentum = 0}, GradientUse::kept, source).total();
  CHECK(dp_memory(plan, 1, source) == 0);
  CHECK(dp_memory(plan, 2, source) > one);
  CHECK(dp_memory(plan, 3, source) > 2 * one);
}

}  // namespace
}  // namespace ptbench::testing

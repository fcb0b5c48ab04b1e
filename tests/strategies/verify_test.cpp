// What a verification finds in one step from equal states, and what it must not mind.
#include "strategies/verify.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "strategies/training_state.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/strategies/training.h"
#include "tests/strategies/verification.h"
#include "tests/support/communicators.h"
#include "tests/support/recording_communicator.h"
#include "workloads/arena_tensors.h"

namespace ptbench::testing {
namespace {

constexpr Communicator::Timeout kPatience = std::chrono::seconds(60);
constexpr VerificationBounds kOtherArithmetic{
    .loss = 1e-2, .gradients = {.distance = 0}, .statistics = 1e-2};

/// What goes wrong in a step; each is called in its place.
struct Spoiling {
  std::function<void(Replica&)> gradients = nullptr;  ///< after backward
  std::function<void(Replica&)> result = nullptr;     ///< after the update
  bool skips = false;                                 ///< there is no update
  int updates = 1;                                    ///< that an update counts as
  bool adapts_scale = true;
  double rate = 1;  ///< times the rate that was asked for
};

/// Serial training that goes wrong.
class Spoiled final : public Strategy {
 public:
  Spoiled(std::unique_ptr<Replica> replica, Spoiling spoiling)
      : replica_(std::move(replica)), spoiling_(std::move(spoiling)) {
    if (spoiling_.rate != 1)
      replica_->set_learning_rate(replica_->step().optimizer.lr * spoiling_.rate);
  }
  [[nodiscard]] Replica& replica() override { return *replica_; }

 private:
  void take_step() override {
    replica_->compute_gradients([](Range, Program::ReadyMark) {});
    if (spoiling_.gradients) spoiling_.gradients(*replica_);
    if (!spoiling_.skips) {
      replica_->optimizer_step(replica_->all(), next_update());
      for (int i = 0; i < spoiling_.updates; ++i) count_update();
    }
    if (spoiling_.adapts_scale && replica_->scaler().active())
      replica_->finish_scaled_step(!spoiling_.skips);
    if (spoiling_.result) spoiling_.result(*replica_);
  }
  float read_loss() override { return replica_->read_loss(); }

  std::unique_ptr<Replica> replica_;
  Spoiling spoiling_;
};

RanksSpec spec_of(const OptimizerSpec& optimizer) {
  RanksSpec spec;
  spec.world_size = 1;
  spec.row = find_strategy("serial");
  spec.training = {.micro_batch = 4, .step = {.optimizer = optimizer}};
  return spec;
}

/// One side of a comparison, with plain loops.
class Side {
 public:
  Side(const Graph& graph, RanksSpec spec, std::optional<Spoiling> spoiling)
      : alone_(memory_),
        control_(control_alone(memory_)),
        training_(graph, with(std::move(spec), std::move(spoiling)), backend_, alone_, control_) {}
  [[nodiscard]] Strategy& strategy() { return training_.strategy(); }

 private:
  static RanksSpec with(RanksSpec spec, std::optional<Spoiling> spoiling) {
    if (spoiling)
      spec.row.build = [spoiling](StrategyContext context) -> std::unique_ptr<Strategy> {
        return std::make_unique<Spoiled>(std::move(context.replicas.front()), *spoiling);
      };
    return spec;
  }
  ReferenceBackend backend_;
  HostMemorySource memory_;
  SoloCommunicator alone_;
  ControlChannel control_;
  RankTraining training_;
};

VerificationRecord compared(const Spoiling& spoiling, const OptimizerSpec& optimizer,
                            const VerificationBounds& bounds = {}) {
  Side tested(conv_graph(), spec_of(optimizer), spoiling);
  Side oracle(conv_graph(), spec_of(optimizer), std::nullopt);
  return verify_alone(tested.strategy(), oracle.strategy(), bounds);
}

std::vector<OptimizerSpec> optimizers() { return {sgd(), adam()}; }

void scale(std::span<float> values, float factor) {
  for (float& value : values) value *= factor;
}

/// As if the learning rate were another.
Spoiling at_rate(double factor) {
  return {.gradients =
              [factor](Replica& replica) {
                replica.set_learning_rate(replica.step().optimizer.lr * factor);
              },
          .result =
              [factor](Replica& replica) {
                replica.set_learning_rate(replica.step().optimizer.lr / factor);
              }};
}

TEST_CASE("equal trainings pass after five steps that were made", "[strategies]") {
  for (const OptimizerSpec& optimizer : optimizers()) {
    const VerificationRecord record = compared({}, optimizer);
    CAPTURE(name_of(optimizer.kind), record.reason.value_or(""));
    CHECK(record.status == VerificationStatus::passed);
    CHECK(record.steps == kAppliedSteps);
    CHECK(record.tolerance == 1e-5);
    CHECK(record.max_relative_error.value_or(1) <= 1e-5);
    CHECK(record.lr == optimizer.lr);
  }
}

TEST_CASE("trainings that have parted are compared step by step", "[strategies]") {
  // A trajectory of its own is no fault: each step begins with the oracle's state.
  Side tested(conv_graph(), spec_of(sgd()), std::nullopt);
  Side oracle(conv_graph(), spec_of(sgd()), std::nullopt);
  for (int step = 0; step < 3; ++step) (void)tested.strategy().step();
  for (int step = 0; step < 3; ++step) (void)oracle.strategy().step();
  scale(tested.strategy().replica().program().parameters(), 1.5F);
  CHECK(verify_alone(tested.strategy(), oracle.strategy()).status == VerificationStatus::passed);
}

TEST_CASE("another gradient fails whatever the optimizer makes of it", "[strategies]") {
  for (const OptimizerSpec& optimizer : optimizers())
    for (const float factor : {2.0F, 1.001F, 0.5F}) {
      const VerificationRecord record = compared(
          {.gradients =
               [factor](Replica& replica) { scale(replica.program().gradients(), factor); }},
          optimizer);
      CAPTURE(name_of(optimizer.kind), factor);
      CHECK(record.status == VerificationStatus::failed);
      CHECK(record.steps == 1);
      CHECK_THAT(record.reason.value_or(""), Catch::Contains("gradient of '"));
    }
}

TEST_CASE("an update that is not the rule's fails", "[strategies]") {
  const auto first = [](std::span<float> values) -> float& { return values.front(); };
  const std::vector<std::pair<std::string, Spoiling>> wrong{
      {"rate 1.05", at_rate(1.05)},
      {"rate 0.99", at_rate(0.99)},
      {"state 0.99",
       {.result = [](Replica& replica) { scale(replica.optimizer_state()[0], 0.99F); }}},
      {"rounded",
       {.result =
            [](Replica& replica) {
              for (float& value : replica.program().parameters())
                value = static_cast<float>(std::nearbyint(value * 512) / 512);
            }}},
      {"one element",
       {.result = [&](Replica& replica) { first(replica.program().parameters()) *= 1.001F; }}}};
  for (const OptimizerSpec& optimizer : optimizers())
    for (const auto& [name, spoiling] : wrong) {
      const VerificationRecord record = compared(spoiling, optimizer);
      CAPTURE(name_of(optimizer.kind), name);
      CHECK(record.status == VerificationStatus::failed);
      CHECK(record.worst_tensor.has_value());
      CHECK_THAT(record.reason.value_or(""), Catch::Contains("is not what its gradient"));
    }
}

TEST_CASE("an update too small to be seen is looked at with a larger rate", "[strategies]") {
  for (OptimizerSpec optimizer : optimizers()) {
    optimizer.lr = 1e-9;
    CAPTURE(name_of(optimizer.kind));
    const VerificationRecord right = compared({}, optimizer);
    CHECK(right.status == VerificationStatus::passed);
    CHECK(right.lr.value_or(0) > 100 * optimizer.lr);
    CHECK(compared(at_rate(1.05), optimizer).status == VerificationStatus::failed);
    optimizer.lr = 0;
    CHECK(compared({}, optimizer).status == VerificationStatus::passed);
  }
}

TEST_CASE("a strategy is not judged by the rate that it gives itself", "[strategies]") {
  for (OptimizerSpec optimizer : optimizers())
    for (const double lr : {1e-3, 1e-9}) {  // the second is raised
      optimizer.lr = lr;
      CAPTURE(name_of(optimizer.kind), lr);
      CHECK(compared({.rate = 0.5}, optimizer).status == VerificationStatus::failed);
      CHECK(compared({.rate = 1.05}, optimizer).status == VerificationStatus::failed);
    }
}

TEST_CASE("a step is one update", "[strategies]") {
  for (const OptimizerSpec& optimizer : optimizers())
    for (const int updates : {2, 5}) {
      const VerificationRecord record = compared({.updates = updates}, optimizer);
      CHECK(record.status == VerificationStatus::failed);
      CHECK_THAT(record.reason.value_or(""), Catch::Contains("updates have been made"));
    }
}

/// With a dynamic loss scale on both sides.
VerificationRecord compared_scaled(const Spoiling& spoiling) {
  RanksSpec spec = spec_of(sgd());
  spec.training.step.loss_scale = {.kind = LossScaling::dynamic};
  Side tested(conv_graph(), spec, spoiling);
  Side oracle(conv_graph(), spec, std::nullopt);
  return verify_alone(tested.strategy(), oracle.strategy());
}

TEST_CASE("the loss scaler goes on as the oracle's", "[strategies]") {
  const VerificationRecord right = compared_scaled({});
  CAPTURE(right.reason.value_or(""));
  CHECK(right.status == VerificationStatus::passed);
  const VerificationRecord kept = compared_scaled({.adapts_scale = false});
  CHECK(kept.status == VerificationStatus::failed);
  CHECK_THAT(kept.reason.value_or(""), Catch::Contains("loss scaler is not in the state"));
  // A gradient that is not finite excuses a step that is skipped where the oracle's is not either.
  const VerificationRecord alone =
      compared_scaled({.gradients =
                           [](Replica& replica) {
                             replica.program().gradients().front() =
                                 std::numeric_limits<float>::infinity();
                           },
                       .skips = true});
  CHECK(alone.status == VerificationStatus::failed);
  CHECK_THAT(alone.reason.value_or(""), Catch::Contains("the oracle's was not"));
}

TEST_CASE("running statistics that are not the oracle's fail", "[strategies]") {
  const VerificationRecord record = compared(
      {.result = [](Replica& replica) { scale(replica.program().running_statistics(), 1.01F); }},
      sgd());
  CHECK(record.status == VerificationStatus::failed);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("running_"));
}

TEST_CASE("a step that is skipped has a reason, and changes nothing", "[strategies]") {
  const VerificationRecord unfounded = compared({.skips = true}, sgd());
  CHECK(unfounded.status == VerificationStatus::failed);
  CHECK_THAT(unfounded.reason.value_or(""), Catch::Contains("although its gradients are finite"));
  const VerificationRecord changing = compared(
      {.result = [](Replica& replica) { scale(replica.program().parameters(), 2); }, .skips = true},
      sgd());
  CHECK(changing.status == VerificationStatus::failed);
  CHECK_THAT(changing.reason.value_or(""), Catch::Contains("was skipped by loss scaling, yet"));
}

TEST_CASE("what is not a number never passes", "[strategies]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const VerificationRecord wrong = compared(
      {.gradients = [](Replica& replica) { replica.program().gradients().front() = kNan; }}, sgd());
  CHECK(wrong.status == VerificationStatus::failed);
  CHECK_FALSE(wrong.max_relative_error.has_value());
  Side tested(conv_graph(), spec_of(sgd()), std::nullopt);
  Side oracle(conv_graph(), spec_of(sgd()), std::nullopt);
  scale(oracle.strategy().replica().program().parameters(), kNan);
  oracle.strategy().replica().program().parameters_changed();
  const VerificationRecord diverged = verify_alone(tested.strategy(), oracle.strategy());
  CHECK(diverged.status == VerificationStatus::failed);
  CHECK_THAT(diverged.reason.value_or(""), Catch::Contains("diverges"));
}

TEST_CASE("a verification that is ended early is weak", "[strategies]") {
  for (const Size steps : {1, 3}) {
    Side tested(conv_graph(), spec_of(sgd()), std::nullopt);
    Side oracle(conv_graph(), spec_of(sgd()), std::nullopt);
    const VerificationRecord record = verify_alone(tested.strategy(), oracle.strategy(), {}, [&] {
      return tested.strategy().steps() < steps;
    });
    CHECK(record.status == VerificationStatus::weak);
    CHECK(record.steps == steps);
    CHECK_THAT(record.reason.value_or(""), Catch::Contains("5 and 3 are wanted"));
  }
}

TEST_CASE("other arithmetic is held by the length of its gradient", "[strategies]") {
  const auto scaled = [](float factor) {
    return Spoiling{
        .gradients = [factor](Replica& replica) { scale(replica.program().gradients(), factor); }};
  };
  CHECK(compared(scaled(1), sgd(), kOtherArithmetic).status == VerificationStatus::passed);
  for (const float factor : {1.02F, 0.98F, 2.0F, 0.25F}) {
    const VerificationRecord record = compared(scaled(factor), sgd(), kOtherArithmetic);
    CAPTURE(factor);
    CHECK(record.status == VerificationStatus::failed);
    CHECK_THAT(record.reason.value_or(""), Catch::Contains("length of the gradient"));
  }
}

void scale_tensor(Replica& replica, std::string_view name, float factor) {
  const ProgramPlan& plan = replica.program().plan();
  for (const TensorGroup& group : tensor_groups(plan)) {
    auto values = export_arena(plan, group, replica.program().gradients());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (group.parameters[i].name == name) scale(values[i], factor);
    import_arena(plan, group, values, replica.program().gradients());
  }
}

Spoiling scaling_tensor(std::string_view name, float factor) {
  return {.gradients = [=](Replica& replica) { scale_tensor(replica, name, factor); }};
}

TEST_CASE("of other arithmetic a gradient that points elsewhere is found", "[strategies]") {
  const VerificationRecord opposite =
      compared({.gradients = [](Replica& replica) { scale(replica.program().gradients(), -1); }},
               sgd(), kOtherArithmetic);
  CHECK(opposite.status == VerificationStatus::failed);
  CHECK_THAT(opposite.reason.value_or(""), Catch::Contains("direction of the gradient"));
  // One tensor alone, in a gradient whose direction is known.
  const VerificationRecord tensor =
      compared(scaling_tensor("bn.bias", -1), sgd(), kOtherArithmetic);
  CHECK(tensor.status == VerificationStatus::failed);
  CHECK_THAT(tensor.reason.value_or(""), Catch::Contains("direction of the gradient of 'bn.bias'"));
}

TEST_CASE("of other arithmetic in fp32 gradients are compared by distance", "[strategies]") {
  VerificationBounds bounds = kOtherArithmetic;
  bounds.gradients.nearness = 1e-4;
  bounds.gradients.nearness_before_corners = 4e-3;
  CHECK(compared({}, sgd(), bounds).status == VerificationStatus::passed);
  for (const auto& [name, factor] :
       std::vector<std::pair<std::string, float>>{{"fc.weight", 1.001F}, {"conv.weight", 1.015F}}) {
    const Spoiling spoiling = scaling_tensor(name, factor);
    CAPTURE(name);
    CHECK(compared(spoiling, sgd(), kOtherArithmetic).status == VerificationStatus::passed);
    const VerificationRecord record = compared(spoiling, sgd(), bounds);
    CHECK(record.status == VerificationStatus::failed);
    CHECK(record.worst_tensor == name);
  }
  // A corner that was passed in some step.
  int step = 0;
  const VerificationRecord corner = compared({.gradients =
                                                  [&](Replica& replica) {
                                                    if (++step == 2)
                                                      scale_tensor(replica, "conv.weight", 1.015F);
                                                  }},
                                             sgd(), bounds);
  CHECK(corner.status == VerificationStatus::passed);
}

TEST_CASE("a tensor that points elsewhere does not excuse itself", "[strategies]") {
  VerificationBounds bounds = kOtherArithmetic;
  bounds.gradients.turn = 0.5;
  Side tested(mlp_graph(), spec_of(sgd()), scaling_tensor("fc2.bias", -1.0F));
  Side oracle(mlp_graph(), spec_of(sgd()), std::nullopt);
  const VerificationRecord record = verify_alone(tested.strategy(), oracle.strategy(), bounds);
  CAPTURE(record.reason.value_or(""));
  CHECK(record.status == VerificationStatus::failed);
  CHECK(record.worst_tensor == "fc2.bias");
}

TEST_CASE("a length that scatters over the steps is weakly verified", "[strategies]") {
  int step = 0;
  const VerificationRecord record =
      compared({.gradients =
                    [&](Replica& replica) {
                      scale(replica.program().gradients(), ++step % 2 == 0 ? 0.98F : 1.06F);
                    }},
               sgd(), kOtherArithmetic);
  CAPTURE(record.reason.value_or(""));
  CHECK(record.status == VerificationStatus::weak);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("times the length of the oracle's"));
}

TEST_CASE("a steep loss makes of a turned gradient a doubt", "[strategies]") {
  VerificationBounds bounds = kOtherArithmetic;
  bounds.gradients.turn = 1e-3;
  const Spoiling spoiling = scaling_tensor("fc.weight", 1.009F);
  CHECK(compared(spoiling, sgd(), bounds).status == VerificationStatus::failed);
  bounds.gradients.usual_loss = 0.01;  // a hundredth of what it is
  const VerificationRecord record = compared(spoiling, sgd(), bounds);
  CAPTURE(record.reason.value_or(""));
  CHECK(record.status == VerificationStatus::weak);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("the loss is so large"));
}

TEST_CASE("a gradient that rounding may have turned is weakly verified", "[strategies]") {
  // It is as long as it was, and says nothing.
  const VerificationRecord record =
      compared({.gradients =
                    [](Replica& replica) {
                      const std::span<float> gradients = replica.program().gradients();
                      for (std::size_t i = 0; i < gradients.size(); i += 2) gradients[i] *= -1;
                    }},
               sgd(), kOtherArithmetic);
  CAPTURE(record.reason.value_or(""));
  CHECK(record.status == VerificationStatus::weak);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("their slope against the oracle's is"));
}

TEST_CASE("states are copied between layouts", "[strategies]") {
  // The CPU's layouts are not the plain ones.
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  ControlChannel control = control_alone(memory);
  for (const OptimizerSpec& optimizer : optimizers()) {
    RankTraining tested(conv_graph(), spec_of(optimizer), backend, alone, control);
    Side oracle(conv_graph(), spec_of(optimizer), std::nullopt);
    const VerificationRecord record =
        verify_alone(tested.strategy(), oracle.strategy(), kOtherArithmetic);
    CAPTURE(name_of(optimizer.kind), record.reason.value_or(""));
    CHECK(record.status == VerificationStatus::passed);
    copy_training_state(oracle.strategy(), tested.strategy());
    const auto copied = tested.program().export_tensors();
    const auto original = oracle.strategy().replica().program().export_tensors();
    for (std::size_t i = 0; i < original.size(); ++i) CHECK(copied[i].values == original[i].values);
  }
}

TEST_CASE("ranks get the running statistics of rank 0 before each step", "[strategies]") {
  REQUIRE(conv_graph().has_batch_norm());
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()}) {
    RanksSpec spec;
    spec.world_size = 3;
    spec.row = row;
    spec.training = {.micro_batch = 2, .step = {.optimizer = sgd(), .accumulation_steps = 2}};
    const VerificationRecord right = verify_ranks(conv_graph(), spec);
    CAPTURE(row.name, right.reason.value_or(""));
    CHECK(right.status == VerificationStatus::passed);
    spec.options.broadcast_buffers = false;
    CHECK(verify_ranks(conv_graph(), spec).status == VerificationStatus::passed);
  }
}

/// Says of itself which parts of the arena it updates; trains as ddp-flat, which updates all.
class Claiming final : public Strategy {
 public:
  Claiming(std::unique_ptr<Strategy> inner, std::vector<Range> slices)
      : inner_(std::move(inner)), slices_(std::move(slices)) {}
  [[nodiscard]] Replica& replica() override { return inner_->replica(); }
  [[nodiscard]] std::vector<Range> updated_slices() override { return slices_; }

 private:
  void take_step() override {
    inner_->set_updates(updates());
    inner_->start_step();
    if (inner_->updates() > updates()) count_update();
  }
  float read_loss() override { return inner_->finish_step(); }

  std::unique_ptr<Strategy> inner_;
  std::vector<Range> slices_;
};

TEST_CASE("ranks may share parts of the arena, and leave none", "[strategies]") {
  const auto claimed = [](const std::function<std::vector<Range>(Size all)>& slices) {
    RanksSpec spec;
    spec.training = {.micro_batch = 2, .step = {.optimizer = sgd()}};
    spec.row = ddp_flat_strategy();
    spec.row.build = [slices](StrategyContext context) -> std::unique_ptr<Strategy> {
      auto inner = ddp_flat_strategy().build(std::move(context));
      const Size all = inner->replica().all().end;
      return std::make_unique<Claiming>(std::move(inner), slices(all));
    };
    return verify_ranks(mlp_graph(), spec);
  };
  for (const auto& slices : std::vector<std::function<std::vector<Range>(Size)>>{
           [](Size all) { return std::vector<Range>{{0, all}}; },
           [](Size all) { return std::vector<Range>{{0, all}, {16, 32}}; },
           [](Size all) { return std::vector<Range>{{0, 48}, {16, 32}, {32, all}}; }}) {
    const VerificationRecord record = claimed(slices);
    CAPTURE(record.reason.value_or(""));
    CHECK(record.status == VerificationStatus::passed);
  }
  for (const auto& slices : std::vector<std::function<std::vector<Range>(Size)>>{
           [](Size all) { return std::vector<Range>{{16, all}}; },
           [](Size all) { return std::vector<Range>{{0, all - 16}}; },
           [](Size) { return std::vector<Range>{}; }}) {
    const VerificationRecord record = claimed(slices);
    CHECK(record.status == VerificationStatus::failed);
    CHECK_THAT(record.reason.value_or(""), Catch::Contains("no rank says that it updates"));
  }
}

TEST_CASE("many small shares of a loss add up", "[strategies]") {
  // Float would round each sum: by 1e-5 after thousands.
  RanksSpec split = spec_of(sgd());
  split.training.micro_batch = 1;
  split.training.step.accumulation_steps = 8192;
  RanksSpec whole = spec_of(sgd());
  whole.training.micro_batch = 8192;
  split.training.samples = whole.training.samples = 8192;
  Side tested(mlp_graph(), split, std::nullopt);
  Side oracle(mlp_graph(), whole, std::nullopt);
  CHECK(tested.strategy().step() == Approx(oracle.strategy().step()).epsilon(5e-7));
}

TEST_CASE("running statistics that never came are found", "[strategies]") {
  RanksSpec spec;
  spec.training = {.micro_batch = 2, .step = {.optimizer = sgd()}};
  spec.options.broadcast_buffers = false;
  spec.promises_statistics = true;
  const VerificationRecord record = verify_ranks(conv_graph(), spec);
  CHECK(record.status == VerificationStatus::failed);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("rank 1 began its forward pass without"));
}

/// What each of three ranks is told, whose trainings `change` may tell apart.
std::vector<std::optional<Size>> differing(const Graph& graph,
                                           const std::function<void(Program&, Size rank)>& change) {
  const ReferenceBackend backend;
  std::vector<std::optional<Size>> answers(3);
  ThreadGroup(std::ssize(answers)).run([&](SharedMemoryCommunicator& shared) {
    Training training(backend, graph, {.micro_batch = 4, .step = {.optimizer = sgd()}});
    change(training.program(), shared.rank());
    ControlChannel control = control_of(shared);
    answers[static_cast<std::size_t>(shared.rank())] =
        first_differing_rank(training.strategy(), control, kPatience);
  });
  return answers;
}

TEST_CASE("the first rank with other parameters is known to all ranks", "[strategies]") {
  using Answers = std::vector<std::optional<Size>>;
  const auto from = [](Size first) {
    return [first](Program& program, Size rank) {
      float& last = program.parameters().back();
      if (rank >= first) last = std::nextafter(last, 1.0F);
    };
  };
  CHECK(differing(conv_graph(), from(3)) == Answers(3));
  CHECK(differing(conv_graph(), from(2)) == Answers(3, 2));
  CHECK(differing(conv_graph(), from(1)) == Answers(3, 1));
  CHECK(differing(conv_graph(), from(0)) == Answers(3));
}

TEST_CASE("ranks wait for each other's parameters within the timeout", "[strategies]") {
  Side tested(conv_graph(), spec_of(sgd()), std::nullopt);
  RecordedControl control;
  const RecordingCommunicator& recording = control.recording;
  // The ranks' digests are those that were there: zeros.
  CHECK(first_differing_rank(tested.strategy(), control.channel, kPatience) == std::nullopt);
  CHECK_FALSE(recording.calls().empty());
  for (const RecordedCall& call : recording.calls())
    if (call.name == "wait") CHECK(call.timeout == kPatience);
  CHECK(recording.outstanding() == 0);
  RecordedControl alone(1);
  CHECK(first_differing_rank(tested.strategy(), alone.channel, kPatience) == std::nullopt);
  CHECK(alone.recording.calls().empty());
}

}  // namespace
}  // namespace ptbench::testing

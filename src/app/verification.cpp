#include "src/app/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/units.h"
#include "src/device/memory.h"
#include "strategies/verify.h"

namespace ptbench {
namespace {

constexpr Size kSteps = 30;
/// Where the oracle trains what is split in one piece, by other kernels: rounding alone is beyond
/// the bound after some 20 steps.
constexpr Size kStepsInOnePiece = 10;
constexpr Size kLeastSteps = 3;
constexpr double kSeconds = 10;

/// At larger rates rounding alone drives two trainings apart; Adam's updates do not shrink with the
/// gradients, so it gets less.
double learning_rate(const OptimizerSpec& optimizer) {
  const double usual = optimizer.kind == OptimizerKind::sgd ? 1e-2 : 1e-3;
  return optimizer.lr > 0 ? std::min(usual, optimizer.lr) : usual;
}

/// Of several ranks, whose oracle computes in the same type; and of one, whose oracle is fp32.
VerificationBounds bounds_of(const TrainingShape& tested, WireType wire) {
  const bool narrow = tested.type == ElementType::bf16;
  if (tested.ranks > 1 && (narrow || wire == WireType::bf16))
    return {.loss = 1e-2, .parameters = 5e-2, .running_statistics = false};
  if (tested.ranks > 1) return {.loss = 1e-5, .parameters = 1e-4, .running_statistics = false};
  if (narrow) return {.loss = 2e-2, .parameters = 0};
  return {.loss = 1e-5, .parameters = 1e-4};
}

/// One replica in the ranks' stead.
TrainingShape in_turn(TrainingShape shape) {
  if (shape.shares.empty())
    shape.step.accumulation_steps *= shape.ranks;
  else  // of unequal size: no plan has several, so all of them at once
    shape.micro_batch = shape.batch().together();
  shape.ranks = 1;
  shape.rank = 0;
  shape.shares.clear();
  shape.one_process = false;
  return shape;
}

VerificationPlan not_run(std::string reason) {
  return {.tested = {}, .oracle = std::nullopt, .reason = std::move(reason)};
}

Bytes memory_of(const Graph& graph, const TrainingShape& shape) {
  const auto replicas = static_cast<Bytes>(shape.ranks);
  return replicas *
         estimate_memory(graph, shape.micro_batch, shape.type, shape.step.optimizer).total();
}

}  // namespace

VerificationPlan plan_verification(const RunConfig& config, const Graph& graph,
                                   const TrainingShape& shape) {
  if (config.options.verify == VerifyMode::off) return not_run("switched off by --verify off");
  const bool several = shape.ranks > 1;
  const bool accumulates = shape.step.accumulation_steps > 1 && !several;
  const bool narrow = shape.type != ElementType::f32 && !several;
  const bool scales = shape.step.loss_scale.kind != LossScaling::none;
  const bool asked = config.options.verify != VerifyMode::automatic;
  const bool is_other_code = asked && config.strategy.several_ranks;  // also with one rank
  if (!several && !accumulates && !narrow && !scales && !is_other_code)
    return not_run("serial training in fp32 is what others are compared with");
  if (!shape.shares.empty() && graph.has_batch_norm())
    return not_run("batch norm sees other statistics in unequal micro-batches");
  TrainingShape oracle = in_turn(shape);
  if (!several) oracle.type = ElementType::f32;
  if (!several) oracle.step.loss_scale = {};
  if (accumulates && !graph.has_batch_norm()) {
    oracle.micro_batch = shape.global_batch();
    oracle.step.accumulation_steps = 1;
  } else if (accumulates && !narrow && !scales) {
    return not_run(
        "batch norm sees other statistics in smaller micro-batches, so the unsplit batch "
        "computes something else");
  }
  const Bytes wanted = memory_of(graph, shape) + memory_of(graph, oracle);
  if (shape.rank == 0 && wanted > available_memory())  // rank 0 decides for all
    return not_run(fmt::format("two copies need {} of memory, {} is available",
                               format_bytes(wanted), format_bytes(available_memory())));
  VerificationPlan plan{.tested = shape, .oracle = oracle, .reason = {}};
  const double lr = learning_rate(shape.step.optimizer);
  plan.tested.step.optimizer.lr = lr;
  plan.oracle->step.optimizer.lr = lr;
  return plan;
}

VerificationRecord run_verification(const TrainingGround& ground, const VerificationPlan& plan,
                                    const std::shared_ptr<const ProgramPlan>& planned,
                                    Conductor& conductor, const Clock& clock,
                                    const std::function<bool()>& keep_going) {
  const auto tested = build_training(ground, plan.tested, planned);
  start_weights(ground.config, tested->replica().program());
  const auto oracle =
      build_serial(ground, *plan.oracle,
                   std::make_shared<const ProgramPlan>(ground.graph, plan.oracle->lowering(),
                                                       ground.backend, planned->choices()));
  start_weights(ground.config, oracle->replica().program());
  conductor.lead(*tested);
  const double begin = clock.now();
  const VerificationBounds bounds = bounds_of(plan.tested, ground.data_parallel.wire);
  const Size steps = plan.tested.shares.empty() ? kSteps : kStepsInOnePiece;
  VerificationRecord record = verify(
      *tested, *oracle, bounds, steps,
      [&] {
        const bool few = tested->steps() < kLeastSteps;
        return keep_going() && (few || clock.now() - begin < kSeconds);
      },
      [&] {
        conductor.look();
        return first_differing_rank(*tested, ground.communicator, ground.data_parallel.timeout);
      });
  conductor.stop();
  record.lr = plan.tested.step.optimizer.lr;
  return record;
}

void follow_verification(const TrainingGround& ground, const VerificationPlan& plan,
                         const std::shared_ptr<const ProgramPlan>& planned, Conductor& conductor) {
  const auto tested = build_training(ground, plan.tested, planned);
  start_weights(ground.config, tested->replica().program());
  const auto look = [&] {
    (void)first_differing_rank(*tested, ground.communicator, ground.data_parallel.timeout);
  };
  conductor.follow(*tested, {.timer = nullptr, .look = look});
}

}  // namespace ptbench

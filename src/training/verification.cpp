#include "src/training/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/units.h"
#include "src/comm/catalog.h"
#include "src/device/memory.h"

namespace ptbench {
namespace {

/// The longest time of a verification, which --max-time does not count; and where the user wants a
/// first look.
constexpr double kLongestSeconds = 60;
constexpr double kLongestQuickSeconds = 1.5;

double longest_seconds(const RunOptions& options) {
  return options.quick && options.verify == VerifyMode::automatic ? kLongestQuickSeconds
                                                                  : kLongestSeconds;
}

/// Whether its last layer is the last one with parameters, so that no corner follows these.
bool ends_with_parameters(const Graph& graph) {
  return !graph.nodes.empty() && std::holds_alternative<LinearLayer>(graph.nodes.back().layer);
}

/// `same_arithmetic`: the oracle's forward and backward passes are the tested ones, bit by bit.
VerificationBounds bounds_of(const TrainingShape& tested, const TrainingShape& oracle,
                             bool same_arithmetic, WireType wire, const Graph& graph) {
  constexpr double kRoundedOnTheWire = 1e-2;
  const Size nonlinear_layers = graph.nonlinear_layers();
  VerificationBounds bounds;
  if (same_arithmetic) {
    if (wire == WireType::bf16 && tested.batch.replicas > 1)
      bounds.gradients.distance = kRoundedOnTheWire;
    return bounds;
  }
  // What one ReLU more may turn a gradient by: of narrow types, three times what was seen of
  // correct runs.
  constexpr double kTurnOfNarrow = 0.05;
  constexpr double kTurnOfSame = 0.02;
  const double turn = tested.type == oracle.type ? kTurnOfSame : kTurnOfNarrow;
  bounds.gradients.turn =
      std::min(bounds.gradients.turn, turn * static_cast<double>(nonlinear_layers + 1));
  bounds.gradients.distance = 0;
  bounds.gradients.usual_loss = 2 * std::log(static_cast<double>(std::max<Size>(graph.classes, 2)));
  const bool in_fp32 = tested.type == ElementType::f32 && oracle.type == ElementType::f32;
  if (in_fp32 && (wire == WireType::fp32 || tested.batch.replicas == 1)) {
    constexpr double kOfCorner = 2e-3;
    bounds.gradients.nearness_before_corners =
        kOfCorner * static_cast<double>(nonlinear_layers + 1);
    bounds.gradients.nearness =
        ends_with_parameters(graph) ? 1e-4 : bounds.gradients.nearness_before_corners;
  }
  bounds.loss = tested.type == ElementType::f32 ? 1e-5 : 2e-2;
  bounds.statistics = tested.type == ElementType::f32 ? 1e-3 : 5e-2;
  // Rounding moves the values behind many ReLUs further: in an untrained ResNet-50 with a batch of
  // 1 the last batch norms' variances by a fifth, and statistics take a tenth of that.
  constexpr double kLayersOfBound = 16;
  bounds.statistics *= std::max(1.0, static_cast<double>(nonlinear_layers + 1) / kLayersOfBound);
  return bounds;
}

/// One replica in the ranks' stead.
TrainingShape in_turn(TrainingShape shape) {
  BatchShape one = shape.batch;
  if (one.shares.empty())
    one.accumulation_steps *= one.replicas;
  else  // of unequal size: no plan has several, so all of them at once
    one.micro_batch = one.together();
  one.replicas = 1;
  one.replica = 0;
  one.shares.clear();
  shape.batch = std::move(one);
  shape.one_process = false;
  return shape;
}

VerificationPlan not_run(std::string reason) {
  VerificationPlan plan;
  plan.reason = std::move(reason);
  return plan;
}

/// So that the end of an epoch is among the steps that are compared.
Size first_step(const TrainingContext& context, const TrainingShape& shape) {
  return std::max<Size>(sampler_of(context, shape).steps_per_epoch() - 2, 0);
}

Bytes memory_of(const Graph& graph, const TrainingShape& shape) {
  const auto replicas = static_cast<Bytes>(shape.batch.replicas);
  return replicas *
         estimate_memory(graph, shape.batch.micro_batch, shape.type, shape.optimizer).total();
}

}  // namespace

VerificationPlan plan_verification(const TrainingContext& context, const TrainingShape& shape) {
  const RunConfig& config = context.config;
  const Graph& graph = context.graph;
  if (config.options.verify == VerifyMode::off) return not_run("switched off by --verify off");
  const bool several = shape.batch.replicas > 1;
  const bool accumulates = shape.batch.accumulation_steps > 1 && !several;
  const bool narrow = shape.type != ElementType::f32 && !several;
  const bool scales = shape.loss_scale.kind != LossScaling::none;
  const bool asked = config.options.verify != VerifyMode::automatic;
  const bool is_other_code = asked && config.strategy.several_ranks;  // also with one rank
  // Ranks are compared with one replica of the same device; that alone with the host.
  const bool on_host = !config.device.is_cpu() && !several;
  if (!several && !accumulates && !narrow && !scales && !is_other_code && !on_host)
    return not_run("serial training in fp32 is what others are compared with");
  if (!shape.batch.shares.empty() && graph.has_batch_norm())
    return not_run("batch norm sees other statistics in unequal micro-batches");
  TrainingShape oracle = in_turn(shape);
  if (!several) oracle.type = ElementType::f32;
  if (!several) oracle.loss_scale = {};
  if (accumulates && !graph.has_batch_norm()) {
    oracle.batch.micro_batch = shape.batch.global_batch();
    oracle.batch.accumulation_steps = 1;
  } else if (accumulates && !narrow && !scales) {
    return not_run(
        "batch norm sees other statistics in smaller micro-batches, so the unsplit batch "
        "computes something else");
  }
  const Bytes wanted = memory_of(graph, shape) + memory_of(graph, oracle);
  const Bytes available = available_memory();
  if (shape.batch.replica == 0 && wanted > available) {  // rank 0 decides for all
    VerificationPlan plan = not_run(fmt::format("two copies need {} of memory, {} is available",
                                                format_bytes(wanted), format_bytes(available)));
    plan.lacks_memory = true;
    return plan;
  }
  const bool same_arithmetic =
      !on_host && shape.batch.shares.empty() && oracle.type == shape.type &&
      oracle.batch.micro_batch == shape.batch.micro_batch && oracle.loss_scale == shape.loss_scale;
  VerificationPlan plan{
      .tested = shape,
      .oracle = oracle,
      .on_host = on_host,
      .bounds = bounds_of(shape, oracle, same_arithmetic, context.data_parallel.wire, graph),
      .statistics_period = several ? shape.batch.replicas : 1};
  plan.tested.keeps_gradients = true;  // to be compared
  plan.oracle->keeps_gradients = true;
  plan.tested.first_step = first_step(context, shape);
  plan.oracle->first_step = plan.tested.first_step;
  return plan;
}

namespace {

/// The context of an oracle on the CPU, beside the tested training's on another device.
class HostContext {
 public:
  explicit HostContext(const TrainingContext& tested)
      : site_(open_site(tested.host)),
        alone_(
            find_communicator(kAutomaticCommunicator, 1).make({.memory = site_.device->memory()})),
        control_(std::move(alone_.control)),
        context_{.config = tested.config,
                 .graph = tested.graph,
                 .data = tested.data,
                 .site = site_,
                 .communicator = *alone_.data,
                 .control = control_,
                 .alone = *alone_.data,
                 .alone_control = control_,
                 .data_parallel = tested.data_parallel,
                 .clock = tested.clock,
                 .host = tested.host} {}

  [[nodiscard]] const TrainingContext& get() const { return context_; }

 private:
  Site site_;
  RankCommunicators alone_;
  ControlChannel control_;
  TrainingContext context_;
};

/// Whether both sides train the same batch on the same device, at their own pace.
bool is_same_work(const RunConfig& config, const VerificationPlan& plan) {
  return !plan.on_host && !config.device.is_emulated && config.options.slowdown == 0 &&
         plan.tested.batch == plan.oracle->batch;
}

/// On rank 0; the others make the steps of `tested` too. `context` and `choices` are the oracle's.
Verified compare_with_oracle(const TrainingContext& context, const VerificationPlan& plan,
                             const Choices& choices, Strategy& tested, VerifiedRanks& ranks,
                             const std::function<bool()>& keep_going) {
  const auto oracle =
      build_serial(context, *plan.oracle,
                   std::make_shared<const ProgramPlan>(context.graph, plan.oracle->lowering(),
                                                       context.backend(), choices));
  start_weights(context.config, oracle->replica().program());
  oracle->replica().follow_statistics_every(plan.statistics_period);
  const double begin = context.clock.now();
  const auto goes_on = [&] {
    // How long an emulated device takes says nothing.
    const bool in_time = context.config.device.is_emulated ||
                         context.clock.now() - begin < longest_seconds(context.config.options);
    return keep_going() && in_time;
  };
  Verified found;
  found.record = verify(tested, *oracle, ranks, plan.bounds, goes_on, context.clock, found.steps);
  if (!is_same_work(context.config, plan)) found.steps = {};
  return found;
}

/// The same on the CPU, with the candidates that are the safest bets: how fast an oracle is does
/// not matter.
Verified compare_on_host(const TrainingContext& tested_context, const VerificationPlan& plan,
                         Strategy& tested, VerifiedRanks& ranks,
                         const std::function<bool()>& keep_going) {
  const HostContext host(tested_context);
  const TrainingContext& context = host.get();
  const Choices choices =
      guess(context.backend(), operators_of(context.graph, *plan.oracle), Choices());
  return compare_with_oracle(context, plan, choices, tested, ranks, keep_going);
}

}  // namespace

Verified run_verification(const RankRole& role, const TrainingContext& context,
                          const VerificationPlan& plan,
                          const std::shared_ptr<const ProgramPlan>& planned,
                          const std::function<bool()>& keep_going) {
  const auto tested = build_training(context, plan.tested, planned);
  start_weights(context.config, tested->replica().program());
  if (context.config.graph) (void)tested->record_steps();  // what is timed is what is verified
  VerifiedRanks ranks(*tested, context.control, role.conductor(), context.data_parallel.timeout,
                      context.data_parallel.broadcast_buffers);
  Verified found;
  role.in_step(*tested,
               [&] {
                 found = plan.on_host ? compare_on_host(context, plan, *tested, ranks, keep_going)
                                      : compare_with_oracle(context, plan, planned->choices(),
                                                            *tested, ranks, keep_going);
               },
               {.look = [&] { ranks.follow(); }});
  return found;
}

}  // namespace ptbench

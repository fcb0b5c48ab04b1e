#include "strategies/dp.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/comm/reduce.h"
#include "src/device/isa.h"
#include "strategies/dp_workers.h"
#include "strategies/drag.h"

namespace ptbench {
namespace {

using dp::Lane;
using dp::PhaseRange;
using dp::run_all;

/// Part `index` of a buffer that holds as many equal ones as there are replicas.
template <class T>
std::span<T> part_at(std::span<T> whole, std::size_t index, std::size_t replicas) {
  const std::size_t size = whole.size() / replicas;
  return whole.subspan(index * size, size);
}

/// Members of the team share the copying of what is worth waking them for.
void copy_bytes(Team* team, std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kWorthWaking = std::size_t{1} << 16U;
  ensure(from.size() == to.size(), "a copy is as large as its source");
  const std::size_t members = team == nullptr
                                  ? 1
                                  : std::clamp<std::size_t>(from.size() / kWorthWaking, 1,
                                                            static_cast<std::size_t>(team->size()));
  const auto copy_part = [&](int member) {
    const auto lines = static_cast<Size>((from.size() + kLine - 1) / kLine);
    const Range part = part_of(lines, member, static_cast<Size>(members));
    const std::size_t begin = std::min(static_cast<std::size_t>(part.begin) * kLine, from.size());
    const std::size_t end = std::min(static_cast<std::size_t>(part.end) * kLine, from.size());
    std::ranges::copy(from.subspan(begin, end - begin), to.subspan(begin).begin());
  };
  if (members == 1)
    copy_part(0);
  else
    team->run(static_cast<int>(members), copy_part);
}

/// Every part of an arena, on the team member who computes with it.
void for_each_owned(Team* team, const std::vector<OwnedRange>& owned,
                    FunctionRef<void(Range)> job) {
  if (team == nullptr) {
    for (const OwnedRange& part : owned) job(part.range);
    return;
  }
  team->run([&](int member) {
    for (const OwnedRange& part : owned)
      if (part.member == member) job(part.range);
  });
}

/// The rows of all replicas in the master's memory, and the loss over them. A single replica's rows
/// stay where its program has them.
class GatheredRows {
 public:
  GatheredRows(const Program& first, Size replicas, MemorySource& memory)
      : plan_(plan_of(first.plan(), replicas)),
        inputs_(first.input()),
        labels_(first.labels()),
        logits_gradient_(first.logits_gradient()),
        loss_(memory.allocate(sizeof(float), "the loss")),
        loss_scale_(memory.allocate(sizeof(float), "the loss scale")),
        workspace_(memory.allocate(plan_->workspace_bytes(), "workspace of the loss")),
        scratch_(memory.allocate(plan_->scratch_bytes(), "scratch of the loss")) {
    set_loss_scale(1);
    std::span<const std::byte> logits = first.logits();
    if (replicas > 1) {
      allocate_rows(logits.size(), static_cast<Bytes>(replicas), memory);
      logits = this->logits();
    }
    operator_ = plan_->bind({.inputs = {logits},
                             .output = {},
                             .output_gradients = {},
                             .input_gradients = {logits_gradient_},
                             .parameters = {},
                             .gradients = {},
                             .buffers = {},
                             .labels = labels_,
                             .loss = loss_.as<float>(),
                             .loss_scale = loss_scale_.as<float>(),
                             .workspace = workspace_.as<std::byte>(),
                             .scratch = scratch_.as<std::byte>(),
                             .addends = {}});
  }

  [[nodiscard]] std::span<float> inputs() const { return inputs_; }
  [[nodiscard]] std::span<std::int32_t> labels() const { return labels_; }
  /// Of several replicas.
  [[nodiscard]] std::span<std::byte> logits() const { return logits_buffer_.as<std::byte>(); }
  [[nodiscard]] std::span<const std::byte> logits_gradient() const { return logits_gradient_; }

  void set_loss_scale(float scale) { loss_scale_.as<float>()[0] = scale; }
  /// These rows' share of the global batch's mean loss.
  float forward() {
    operator_->forward();
    return loss_.as<float>()[0];
  }
  void backward() { operator_->backward(GradientMode::replace); }

 private:
  static std::unique_ptr<OperatorPlan> plan_of(const ProgramPlan& plan, Size replicas) {
    const OperatorSpec spec = gathered_loss(plan.graph(), replicas);
    const auto choice = plan.choices().find(key_of(spec));
    ensure(choice != plan.choices().end(), "the loss over all replicas has been chosen");
    return plan.backend().plan(spec, choice->second);
  }

  void allocate_rows(Bytes logits_bytes, Bytes replicas, MemorySource& memory) {
    inputs_buffer_ = memory.allocate(replicas * inputs_.size_bytes(), "inputs of all replicas");
    labels_buffer_ = memory.allocate(replicas * labels_.size_bytes(), "labels of all replicas");
    logits_buffer_ = memory.allocate(replicas * logits_bytes, "logits of all replicas");
    gradient_buffer_ = memory.allocate(replicas * logits_gradient_.size(), "their gradients");
    inputs_ = inputs_buffer_.as<float>();
    labels_ = labels_buffer_.as<std::int32_t>();
    logits_gradient_ = gradient_buffer_.as<std::byte>();
  }

  std::unique_ptr<OperatorPlan> plan_;
  std::span<float> inputs_;
  std::span<std::int32_t> labels_;
  std::span<std::byte> logits_gradient_;
  Buffer inputs_buffer_;  ///< this and the next three: empty for a single replica
  Buffer labels_buffer_;
  Buffer logits_buffer_;
  Buffer gradient_buffer_;
  Buffer loss_;
  Buffer loss_scale_;
  Buffer workspace_;
  Buffer scratch_;
  std::unique_ptr<Operator> operator_;
};

std::unique_ptr<Replica> only(std::vector<std::unique_ptr<Replica>> replicas) {
  ensure(replicas.size() == 1, "dp is built over one whole replica, the master");
  return std::move(replicas.front());
}

class Dp final : public Strategy {
 public:
  explicit Dp(StrategyContext context)
      : master_(only(std::move(context.replicas))),
        group_(std::move(context.group)),
        rows_(master_->program(), replicas(), context.communicator.memory()),
        isa_(detect_isa()) {
    ensure(context.communicator.world_size() == 1, "dp is one process in a world of one");
    ensure(static_cast<bool>(group_.load), "dp has data to load");
    add_lane({.program = master_->program(),
              .team = group_.team,
              .drag = drag_of(group_.slowdown, group_.team)});
    for (const DrivenReplica& other : group_.others) add_lane(driven(other));
    const SoftmaxCrossEntropySpec loss = gathered_loss(plan().graph(), replicas());
    ensure(loss.global_batch % loss.batch == 0, "the plan is for this number of replicas");
    micro_batches_ = loss.global_batch / loss.batch;
    loader_ = std::exchange(group_.load, nullptr)(rows_.inputs(), rows_.labels());
  }

  [[nodiscard]] Replica& replica() override { return *master_; }

  [[nodiscard]] std::vector<ReplicaSeconds> replica_seconds() const override {
    if (timer() == nullptr || observed_steps_ == 0) return {};
    const auto steps = static_cast<double>(observed_steps_);
    std::vector<ReplicaSeconds> means;
    for (const Lane& lane : lanes_)
      means.push_back({.compute = lane.seconds.compute / steps, .wait = lane.seconds.wait / steps});
    return means;
  }

 private:
  [[nodiscard]] Size replicas() const { return static_cast<Size>(group_.others.size()) + 1; }
  [[nodiscard]] const ProgramPlan& plan() const { return master_->program().plan(); }
  [[nodiscard]] bool is_alone() const { return lanes_.size() == 1; }

  [[nodiscard]] Lane driven(const DrivenReplica& other) const {
    ensure(other.program != nullptr && other.driver != nullptr, "a replica has a driver");
    ensure(other.program->plan().hash() == plan().hash(), "replicas are planned alike");
    return {.program = *other.program,
            .driver = other.driver,
            .team = other.team,
            .drag = drag_of(other.slowdown, other.team)};
  }

  [[nodiscard]] Drag drag_of(double slowdown, Team* team) const {
    return {slowdown - 1, clock_, threads_of(team)};
  }

  void add_lane(Lane lane) {
    lane.index = lanes_.size();
    gradients_.push_back(lane.program.gradients().data());
    lanes_.push_back(lane);
  }

  void observe_replicas(PhaseTimer* observer) override {
    master_->observe(observer);
    observed_steps_ = 0;
    for (Lane& lane : lanes_) lane.seconds = {};
  }

  float take_step() override {
    if (master_->scaler().active()) rows_.set_loss_scale(master_->scaler().scale());
    double loss = 0;  // float rounds each of many small shares
    for (Size micro_batch = 0; micro_batch < micro_batches_; ++micro_batch) {
      load(micro_batch);
      scatter();
      replicate();
      forward(micro_batch);
      gather();
      loss += double{forward_loss(micro_batch)};
      backward(micro_batch);
      reduce();
    }
    update();
    if (timer() != nullptr) ++observed_steps_;
    return static_cast<float>(loss);
  }

  void load(Size micro_batch) {
    const PhaseScope scope(timer(), StepPhase::data, payload_of(micro_batch));
    loader_->next();
  }

  void scatter() {
    const std::span<const float> inputs = rows_.inputs();
    const PhaseRange range{.phase = StepPhase::scatter, .payload = inputs.size_bytes()};
    const PhaseScope scope(timer(), range.phase, range.payload);
    if (is_alone()) return;
    run_all(lanes_, range, [&](const Lane& lane) {
      copy_bytes(lane.team, std::as_bytes(part_at(inputs, lane.index, lanes_.size())),
                 std::as_writable_bytes(lane.program.input()));
    });
  }

  void replicate() {
    const Program& from = master_->program();
    const PhaseRange range{
        .phase = StepPhase::replicate,
        .payload = from.parameters().size_bytes() + from.running_statistics().size_bytes()};
    const PhaseScope scope(timer(), range.phase, range.payload);
    if (is_alone()) return;
    run_all(lanes_, range, [&](const Lane& lane) {
      if (lane.index > 0) pull_model(from, lane);
    });
  }

  static void pull_model(const Program& from, const Lane& lane) {
    for_each_owned(lane.team, lane.program.plan().owned(), [&](Range range) {
      std::copy_n(from.parameters().data() + range.begin, range.size(),
                  lane.program.parameters().data() + range.begin);
    });
    std::ranges::copy(from.running_statistics(), lane.program.running_statistics().begin());
    lane.program.parameters_changed();
  }

  void forward(Size micro_batch) {
    const PhaseRange range{.phase = StepPhase::forward, .payload = payload_of(micro_batch)};
    const PhaseScope scope(timer(), range.phase, range.payload);
    compute(range, [](const Lane& lane) { lane.program.forward_to_logits(); });
  }

  void gather() {
    const PhaseScope scope(timer(), StepPhase::gather, rows_.logits().size());
    if (is_alone()) return;
    for (const Lane& lane : lanes_)
      copy_bytes(group_.team, lane.program.logits(),
                 part_at(rows_.logits(), lane.index, lanes_.size()));
  }

  float forward_loss(Size micro_batch) {
    const PhaseScope scope(timer(), StepPhase::forward, payload_of(micro_batch));
    return rows_.forward();
  }

  void backward(Size micro_batch) {
    const PhaseRange range{.phase = StepPhase::backward, .payload = payload_of(micro_batch)};
    const PhaseScope scope(timer(), range.phase, range.payload);
    rows_.backward();
    compute(range, [&](const Lane& lane) {
      if (!is_alone())
        copy_bytes(lane.team, part_at(rows_.logits_gradient(), lane.index, lanes_.size()),
                   lane.program.logits_gradient());
      // What the others have is added to the master's after each micro-batch.
      const bool adds = lane.index == 0 && micro_batch > 0;
      lane.program.backward_from_logits(
          adds ? Program::GradientMode::add : Program::GradientMode::replace, [](Range) {});
    });
  }

  void reduce() {
    const PhaseScope scope(timer(), StepPhase::reduce, master_->program().gradients().size_bytes());
    if (is_alone()) return;
    const ReducedBuffers buffers{.sources = gradients_,
                                 .destinations = std::span(gradients_).first(1)};
    for_each_owned(group_.team, plan().owned(),
                   [&](Range range) { reduce_range(isa_, buffers, range, {}, ResultType::fp32); });
  }

  void update() {
    if (master_->updates_slice_by_slice()) {
      master_->optimizer_step(master_->all(), next_update());
      count_update();
      return;
    }
    const bool finite = master_->gradients_finite();
    if (finite) {
      master_->optimizer_step(master_->all(), next_update());
      count_update();
    }
    master_->finish_scaled_step(finite);
  }

  /// Work of all replicas, on each one's own time.
  void compute(const PhaseRange& range, FunctionRef<void(Lane&)> job) {
    run_all(lanes_, range, [&](Lane& lane) {
      const double begin = clock_.now();
      lane.drag.begin();
      job(lane);
      lane.drag.end();
      lane.end = clock_.now();
      if (timer() != nullptr) lane.seconds.compute += lane.end - begin;
    });
    if (timer() == nullptr) return;
    const double end = std::ranges::max_element(lanes_, {}, &Lane::end)->end;
    for (Lane& lane : lanes_) lane.seconds.wait += end - lane.end;
  }

  static std::uint64_t payload_of(Size micro_batch) {
    return static_cast<std::uint64_t>(micro_batch);
  }

  std::unique_ptr<Replica> master_;
  ReplicaGroup group_;
  GatheredRows rows_;
  std::unique_ptr<BatchLoader> loader_;
  std::vector<Lane> lanes_;        ///< by replica
  std::vector<float*> gradients_;  ///< by replica
  SteadyClock clock_;
  Isa isa_;
  Size micro_batches_ = 1;   ///< of each replica in a step
  Size observed_steps_ = 0;  ///< that the lanes' seconds are sums of
};

}  // namespace

SoftmaxCrossEntropySpec gathered_loss(const LoweredGraph& graph, Size replicas) {
  auto loss = std::get<SoftmaxCrossEntropySpec>(graph.operators.back().spec);
  loss.batch *= replicas;
  return loss;
}

Bytes dp_memory(const ProgramPlan& plan, Size replicas, const MemorySource& source) {
  if (replicas <= 1) return 0;
  constexpr OptimizerSpec kNone{.momentum = 0};
  const Bytes others = static_cast<Bytes>(replicas - 1) * plan.memory(kNone, false, source).total();
  const auto& inputs = plan.graph().tensors[kDataTensor].spec;
  const Size tensor = plan.graph().operators.back().inputs.front();
  const auto& logits = plan.graph().tensors[static_cast<std::size_t>(tensor)].spec;
  const auto rows = [&](Bytes of_replica) {
    return source.footprint(static_cast<Bytes>(replicas) * of_replica);
  };
  return others + rows(plan.backend().bytes_of(inputs)) +
         rows(static_cast<Bytes>(plan.batch()) * sizeof(std::int32_t)) +
         2 * rows(plan.backend().bytes_of(logits));
}

StrategyRow dp_strategy() {
  return {.name = "dp",
          .summary = "replicas in one process around a master, as torch.nn.DataParallel",
          .several_ranks = true,
          .one_process = true,
          .buckets = false,
          .accumulation_steps = 1,
          .mixed_precision = false,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<Dp>(std::move(context));
          }};
}

}  // namespace ptbench

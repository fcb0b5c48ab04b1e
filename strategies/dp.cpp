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
#include "src/device/host_mirror.h"
#include "strategies/dp_rows.h"
#include "strategies/dp_workers.h"

namespace ptbench {
namespace {

using dp::GatheredRows;
using dp::PhaseRange;
using dp::run_all;
using dp::Worker;

/// Part `index` of a buffer that holds as many equal ones as there are replicas.
template <class T>
std::span<T> part_at(std::span<T> whole, std::size_t index, std::size_t replicas) {
  const std::size_t size = whole.size() / replicas;
  return whole.subspan(index * size, size);
}

class Dp final : public Strategy {
 public:
  explicit Dp(StrategyContext context)
      : master_(context.take_replica()),
        group_(std::move(context.group)),
        rows_(master_->program(), replicas()) {
    ensure(context.communicator.world_size() == 1, "dp is one process in a world of one");
    ensure(group_.loader != nullptr, "dp has data to load");
    add_worker({.program = master_->program(), .observer = group_.observer});
    for (const DrivenReplica& other : group_.others) add_worker(driven(other));
    master_gradients_ =
        plan().backend().plan_arena_passes(master_->program().gradients(), plan().owned());
    const SoftmaxCrossEntropySpec loss = gathered_loss(plan().graph(), replicas());
    if (!is_alone() && !master_->device().shares_memory_with_host())
      landing_ = master_->device().memory().allocate(float_bytes(master_->all().size()),
                                                     "gradients of another replica");
    ensure(loss.global_batch == loss.batch * master_->step().accumulation_steps,
           "the plan is for this number of replicas and micro-batches");
  }

  /// Replicas belong to the threads that drive them, which therefore release them.
  ~Dp() override {
    for (const Worker& worker : workers_) finish_quietly(worker.program.device());
    for (std::size_t i = 0; i < group_.others.size(); ++i) {
      const auto release = [&] {
        parameters_[i].reset();
        group_.others[i].program.reset();
      };
      group_.others[i].driver->start(release);
      group_.others[i].driver->wait();
    }
  }
  Dp(const Dp&) = delete;
  Dp& operator=(const Dp&) = delete;

  [[nodiscard]] Replica& replica() override { return *master_; }

  [[nodiscard]] std::vector<ReplicaSeconds> replica_seconds() const override {
    if (timer() == nullptr || observed_steps_ == 0) return {};
    const auto steps = static_cast<double>(observed_steps_);
    std::vector<ReplicaSeconds> means;
    for (const Worker& worker : workers_)
      means.push_back(
          {.compute = worker.seconds.compute / steps, .wait = worker.seconds.wait / steps});
    return means;
  }

 private:
  [[nodiscard]] Size replicas() const { return static_cast<Size>(group_.others.size()) + 1; }
  [[nodiscard]] const ProgramPlan& plan() const { return master_->program().plan(); }
  [[nodiscard]] bool is_alone() const { return workers_.size() == 1; }

  [[nodiscard]] Worker driven(const DrivenReplica& other) {
    ensure(other.program != nullptr && other.driver != nullptr, "a replica has a driver");
    const ProgramPlan& own = other.program->plan();
    ensure(own.hash() == plan().hash(), "replicas are planned alike");
    const auto plan_passes = [&] {
      parameters_.push_back(
          own.backend().plan_arena_passes(other.program->parameters(), own.owned()));
    };
    other.driver->start(plan_passes);
    other.driver->wait();
    other_gradients_.emplace_back(other.program->gradients());
    return {.program = *other.program,
            .parameters = parameters_.back().get(),
            .driver = other.driver,
            .observer = other.observer};
  }

  void add_worker(Worker worker) {
    worker.index = workers_.size();
    workers_.push_back(std::move(worker));
  }

  void observe_replicas(PhaseTimer* observer) override {
    master_->observe(observer);
    observed_steps_ = 0;
    for (Worker& worker : workers_) worker.seconds = {};
    trace_replicas(observer == nullptr ? nullptr : observer->trace());
  }

  /// Drivers' threads finish their devices in each phase, so that their clocks tell its end.
  void trace_replicas(TraceRecorder* trace) {
    for (Worker& worker : workers_) worker.timer = nullptr;
    driver_timers_.clear();
    if (trace == nullptr) return;
    for (Worker& worker : workers_) {
      if (worker.driver == nullptr) continue;
      driver_timers_.push_back(std::make_unique<PhaseTimer>(clock_, nullptr, trace, worker.index));
      worker.timer = driver_timers_.back().get();
    }
  }

  float read_loss() override { return master_->read_loss(); }

  void take_step() override {
    if (master_->scaler().active()) rows_.set_loss_scale(master_->scaler().scale());
    for (Size micro_batch = 0; micro_batch < master_->step().accumulation_steps; ++micro_batch) {
      load(micro_batch);
      scatter();
      replicate();
      forward(micro_batch);
      gather();
      forward_loss(micro_batch);
      backward(micro_batch);
      reduce();
    }
    master_->add_up_losses();
    update();
    if (timer() != nullptr) ++observed_steps_;
  }

  void load(Size micro_batch) {
    const PhaseScope scope(timer(), StepPhase::data, payload_of(micro_batch));
    if (is_alone()) {
      group_.loader->next(master_->program().await_room());
      master_->program().send_batch();
    } else {
      group_.loader->next(rows_.room());  // whose values all devices have taken
      rows_.send_labels();
    }
  }

  void scatter() {
    const Bytes bytes = master_->program().device_input().size() * workers_.size();
    const PhaseRange range{.phase = StepPhase::scatter, .payload = bytes};
    const PhaseScope scope(timer(), range.phase, range.payload);
    if (is_alone()) return;
    const std::span<const std::byte> inputs = rows_.room().inputs.bytes();
    run_all(workers_, range, timer(), [&](const Worker& worker) {
      worker.queue().copy(part_at(inputs, worker.index, workers_.size()),
                          worker.program.device_input());
    });
  }

  void replicate() {
    const Program& from = master_->program();
    const PhaseRange range{
        .phase = StepPhase::replicate,
        .payload = from.parameters().size_bytes() + from.running_statistics().size_bytes()};
    const PhaseScope scope(timer(), range.phase, range.payload);
    if (is_alone()) return;
    master_->device().finish();
    run_all(workers_, range, timer(), [&](const Worker& worker) {
      if (worker.index > 0) pull_model(from, worker);
    });
  }

  /// Each part of the parameters by the thread that computes with it.
  static void pull_model(const Program& from, const Worker& worker) {
    const std::span<const float> parameters = from.parameters();
    worker.parameters->assign({0, std::ssize(parameters)}, parameters);
    worker.queue().copy(std::as_bytes(from.running_statistics()),
                        std::as_writable_bytes(worker.program.running_statistics()));
    worker.program.parameters_changed();
  }

  void forward(Size micro_batch) {
    const PhaseRange range{.phase = StepPhase::forward, .payload = payload_of(micro_batch)};
    const PhaseScope scope(timer(), range.phase, range.payload);
    compute(range, [](const Worker& worker) { worker.program.forward_layers(); });
  }

  void gather() {
    const PhaseScope scope(timer(), StepPhase::gather, rows_.logits().size());
    if (is_alone()) return;
    for (const Worker& worker : workers_)
      master_->queue().copy(worker.program.leaving(),
                            part_at(rows_.logits(), worker.index, workers_.size()));
    master_->device().finish();
  }

  void forward_loss(Size micro_batch) {
    const PhaseScope scope(timer(), StepPhase::forward, payload_of(micro_batch));
    rows_.forward();
    const auto share = master_->losses().subspan(static_cast<std::size_t>(micro_batch), 1);
    master_->queue().copy(std::as_bytes(rows_.loss()), std::as_writable_bytes(share));
  }

  void backward(Size micro_batch) {
    const PhaseRange range{.phase = StepPhase::backward, .payload = payload_of(micro_batch)};
    const PhaseScope scope(timer(), range.phase, range.payload);
    rows_.backward();
    master_->device().finish();
    compute(range, [&](const Worker& worker) {
      if (!is_alone())
        worker.queue().copy(part_at(rows_.logits_gradient(), worker.index, workers_.size()),
                            worker.program.leaving_gradient());
      // What the others have is added to the master's after each micro-batch.
      const bool adds = worker.index == 0 && micro_batch > 0;
      worker.program.backward_layers(adds ? GradientMode::add : GradientMode::replace,
                                     [](Range, Program::ReadyMark) {});
    });
  }

  void reduce() {
    const PhaseScope scope(timer(), StepPhase::reduce, master_->program().gradients().size_bytes());
    if (is_alone()) return;
    if (landing_.bytes() > 0) {
      for (const std::span<const float> gradients : other_gradients_) fetch_and_add(gradients);
    } else {
      master_gradients_->add(master_->all(), other_gradients_);
    }
    master_->device().finish();
  }

  /// Of another device, whose memory kernels may not reach.
  void fetch_and_add(std::span<const float> gradients) {
    const std::span<const float> landed = landing_.as<float>();
    master_->queue().copy(std::as_bytes(gradients), landing_.as<std::byte>());
    master_gradients_->add(master_->all(), std::span(&landed, 1));
  }

  void update() {
    master_->update_all(next_update());
    if (master_->finish_step()) count_update();
  }

  /// Work of all replicas, on each one's own time.
  void compute(const PhaseRange& range, FunctionRef<void(const Worker&)> job) {
    run_all(workers_, range, timer(), [&](Worker& worker) {
      worker.program.device().finish();
      const double begin = clock_.now();
      worker.observer.begin();
      job(worker);
      worker.program.device().finish();
      worker.observer.end();
      worker.end = clock_.now();
      if (timer() != nullptr) worker.seconds.compute += worker.end - begin;
    });
    if (timer() == nullptr) return;
    const double end = std::ranges::max_element(workers_, {}, &Worker::end)->end;
    for (Worker& worker : workers_) worker.seconds.wait += end - worker.end;
  }

  static std::uint64_t payload_of(Size micro_batch) {
    return static_cast<std::uint64_t>(micro_batch);
  }

  std::unique_ptr<Replica> master_;
  ReplicaGroup group_;
  GatheredRows rows_;
  std::vector<Worker> workers_;                           ///< by replica
  std::vector<std::unique_ptr<ArenaPasses>> parameters_;  ///< of replicas 1, 2, …
  std::unique_ptr<ArenaPasses> master_gradients_;
  std::vector<std::span<const float>> other_gradients_;  ///< of replicas 1, 2, …
  Buffer landing_;  ///< for one of these; empty where the master reads them where they lie
  SteadyClock clock_;
  std::vector<std::unique_ptr<PhaseTimer>> driver_timers_;  ///< in steps that are traced
  Size observed_steps_ = 0;  ///< that the workers' seconds are sums of
};

}  // namespace

SoftmaxCrossEntropySpec gathered_loss(const LoweredGraph& graph, Size replicas) {
  SoftmaxCrossEntropySpec loss = graph.loss();
  loss.batch *= replicas;
  return loss;
}

Bytes dp_memory(const ProgramPlan& plan, Size replicas, const MemorySource& source,
                bool shares_memory_with_host) {
  if (replicas <= 1) return 0;
  constexpr OptimizerSpec kNone{.momentum = 0};
  // Where devices have memory of their own, the others are there, and what comes from them here.
  const Bytes others =
      shares_memory_with_host
          ? static_cast<Bytes>(replicas - 1) * plan.memory(kNone, GradientUse::kept, source).total()
          : source.footprint(float_bytes(plan.arena_elements()));
  const auto& inputs = plan.graph().tensors[kDataTensor].spec;
  const auto& logits = plan.graph().tensors[static_cast<std::size_t>(plan.graph().leaving)].spec;
  const auto rows = [&](Bytes of_replica) {
    return source.footprint(static_cast<Bytes>(replicas) * of_replica);
  };
  return others + (shares_memory_with_host ? rows(plan.backend().bytes_of(inputs)) : 0) +
         rows(static_cast<Bytes>(plan.batch()) * sizeof(std::int32_t)) +
         2 * rows(plan.backend().bytes_of(logits));
}

StrategyRow dp_strategy() {
  return {.name = "dp",
          .summary = "replicas in one process around a master, as torch.nn.DataParallel",
          .several_ranks = true,
          .one_process = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<Dp>(std::move(context));
          }};
}

}  // namespace ptbench

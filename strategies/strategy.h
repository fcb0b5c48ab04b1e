#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/data/batch_loader.h"
#include "src/device/driver_thread.h"
#include "src/measure/step_phases.h"
#include "strategies/replica.h"
#include "workloads/program.h"

namespace ptbench {

/// What a replica's mean observed step is made of, in seconds: how long it computed, and how long
/// it then had nothing to do but wait for slower ones.
struct ReplicaSeconds {
  double compute = 0;
  double wait = 0;
};

/// How one optimizer step over a global batch is spread over devices and processes.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// One optimizer step over the next global batch, data to update: gives its work to the devices,
  /// and waits for as little of it as it can. Allocates nothing.
  void start_step() {
    if (around_step_)
      around_step_([this] { make_step(); });
    else
      make_step();
    if (timer_ == nullptr) return;
    timer_->resolve();
    if (timer_->trace() == nullptr) after_observed_step();
  }
  /// Waits for the steps that were started, and returns the last one's loss: the global batch's
  /// mean, as of before the update; 0 before the first step. No other rank need call it.
  [[nodiscard]] float finish_step() { return read_loss(); }
  /// Both.
  float step() {
    start_step();
    return finish_step();
  }
  /// Optimizer steps so far, skipped ones among them.
  [[nodiscard]] Size steps() const { return steps_; }
  /// Steps so far that were not skipped: the parameters were updated so many times.
  [[nodiscard]] Size updates() const { return updates_; }
  /// As if `updates` steps had been made: Adam corrects its moments by their number.
  void set_updates(Size updates) { updates_ = updates; }
  /// The replica of this process whose parameters count.
  [[nodiscard]] virtual Replica& replica() = 0;
  /// Of the arena, ascending: where this process's gradients after a step are those of the global
  /// batch, and its optimizer state is that of the training. Ranks may share the arena between
  /// them.
  [[nodiscard]] virtual std::vector<Range> updated_slices() { return {replica().all()}; }

  /// Called at the beginning of each step to come, as a part of it that is no phase.
  void before_each_step(std::function<void()> call) { before_step_ = std::move(call); }

  /// From now on each step is made by `call`, which calls its argument once and waits for the
  /// device where it has to.
  void around_each_step(std::function<void(FunctionRef<void()> step)> call) {
    around_step_ = std::move(call);
  }

  /// From now on steps after the next one are done from a recording of it, where the device can
  /// record and the host decides nothing on the way; returns whether that is so. What is observed
  /// is done without.
  [[nodiscard]] virtual bool record_steps() { return false; }

  /// Of each replica of this process, over the steps that are observed; empty where none is.
  [[nodiscard]] virtual std::vector<ReplicaSeconds> replica_seconds() const {
    if (timer_ == nullptr || timer_->steps() == 0) return {};
    return {{.compute = timer_->compute_seconds(), .wait = timer_->wait_seconds()}};
  }

  /// Adds the phases of the steps to come to `timer`, which outlives the observation; null ends it.
  void observe(PhaseTimer* timer) {
    timer_ = timer;
    observe_replicas(timer);
  }
  [[nodiscard]] bool is_observed() const { return timer_ != nullptr; }

 protected:
  /// Null: no phase is timed.
  [[nodiscard]] PhaseTimer* timer() const { return timer_; }
  /// Number of the update that is being made, from 1.
  [[nodiscard]] Size next_update() const { return updates_ + 1; }
  /// The update has been made: called once in each step that is not skipped.
  void count_update() { ++updates_; }

 private:
  void make_step() {
    const StepScope scope(timer_, steps() + 1);
    if (before_step_) before_step_();
    take_step();
    ++steps_;
  }
  virtual void take_step() = 0;
  virtual float read_loss() = 0;
  /// For what an observed step needs to know besides, and others have not. Not of steps that are
  /// traced, which would show it between them.
  virtual void after_observed_step() {}
  /// To those replicas that the thread which calls step() runs: a timer is for one thread.
  virtual void observe_replicas(PhaseTimer* timer) { replica().observe(timer); }

  PhaseTimer* timer_ = nullptr;
  std::function<void()> before_step_;
  std::function<void(FunctionRef<void()>)> around_step_;
  Size steps_ = 0;
  Size updates_ = 0;
};

/// How data-parallel strategies over several ranks communicate; the same on all of them.
struct DdpOptions {
  Bytes first_bucket_bytes = Bytes{1} << 20U;  ///< of the gradients that are final first
  Bytes bucket_bytes = Bytes{4} << 20U;        ///< of all others
  bool overlap = true;                         ///< reductions are begun during backward
  WireType wire = WireType::fp32;              ///< of gradients; parameters stay fp32
  /// Rank 0's running statistics of batch norm go to all before each step.
  bool broadcast_buffers = true;
  bool share_clock = true;  ///< ranks are on one host, so that their clocks tell who came last
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  ///< of each wait for other ranks
};

/// A replica beside the first in the same process, on a device of its own.
struct DrivenReplica {
  std::unique_ptr<Program> program;  ///< made and run on the driver's thread
  DriverThread* driver = nullptr;
  ComputeObserver observer = {};  ///< of its passes; called on the driver's thread
};

/// What a strategy over several replicas in one process is built over, beside the first replica.
struct ReplicaGroup {
  std::vector<DrivenReplica> others;    ///< replicas 1, 2, …
  ComputeObserver observer;             ///< of the first one's passes
  std::unique_ptr<BatchLoader> loader;  ///< of one micro-batch of every replica, in their order
};

/// What a strategy is built over; everything outlives it.
struct StrategyContext {
  std::vector<std::unique_ptr<Replica>> replicas;  ///< this process's, with data attached
  Communicator& communicator;  ///< of values in the memory of the replica's device
  ControlChannel& control;     ///< between the same ranks
  DdpOptions data_parallel;
  ReplicaGroup group;  ///< of a strategy whose ranks are replicas of one process

  /// Out of `replicas`, which has to hold one.
  [[nodiscard]] std::unique_ptr<Replica> take_replica();
};

}  // namespace ptbench

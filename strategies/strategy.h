#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/measure/step_phases.h"
#include "strategies/replica.h"

namespace ptbench {

/// How one optimizer step over a global batch is spread over devices and processes.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// One optimizer step over the next global batch, data to update. Returns the global batch's mean
  /// loss, as of before the update. Allocates nothing.
  float step() {
    if (before_step_) before_step_();
    const StepScope scope(timer_, steps() + 1);
    return take_step();
  }
  /// Optimizer steps so far.
  [[nodiscard]] virtual Size steps() const = 0;
  /// The replica of this process whose parameters count.
  [[nodiscard]] virtual Replica& replica() = 0;

  /// Called at the beginning of each step to come, outside of its range and phases.
  void before_each_step(std::function<void()> call) { before_step_ = std::move(call); }

  /// Adds the phases of the steps to come to `timer`, which outlives the observation; null ends it.
  void observe(PhaseTimer* timer) {
    timer_ = timer;
    observe_replicas(timer);
  }

 protected:
  /// Null: no phase is timed.
  [[nodiscard]] PhaseTimer* timer() const { return timer_; }

 private:
  /// What step() returns, and `steps` is one more afterwards.
  virtual float take_step() = 0;
  /// To those replicas that the thread which calls step() runs: a timer is for one thread.
  virtual void observe_replicas(PhaseTimer* timer) { replica().observe(timer); }

  PhaseTimer* timer_ = nullptr;
  std::function<void()> before_step_;
};

/// How data-parallel strategies over several ranks communicate; the same on all of them.
struct DdpOptions {
  Bytes first_bucket_bytes = Bytes{1} << 20U;  ///< of the gradients that are final first
  Bytes bucket_bytes = Bytes{4} << 20U;        ///< of all others
  bool overlap = true;                         ///< reductions are begun during backward
  WireType wire = WireType::fp32;              ///< of gradients; parameters stay fp32
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  ///< of each wait for other ranks
};

/// What a strategy is built over; everything outlives it.
struct StrategyContext {
  std::vector<std::unique_ptr<Replica>> replicas;  ///< this process's, with data attached
  Communicator& communicator;
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ calls it forgotten otherwise
  DdpOptions data_parallel = {};
};

}  // namespace ptbench

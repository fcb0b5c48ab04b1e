#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/comm/communicator.h"
#include "strategies/strategy.h"

namespace ptbench {

/// What the data-parallel strategies over several ranks have in common: every rank holds one
/// replica, computes its own micro-batches of the global batch, and has the same parameters as all
/// others after each step. How gradients are summed and parameters updated is left to each.
///
/// The mean: a plan is lowered for the global batch (Lowering::global_batch is the sum of the
/// ranks' micro-batches × accumulation), so each rank's gradients and loss are its share of the
/// global mean already, and plain sums over ranks are the mean. Nothing is divided here.
/// Micro-batches may differ between ranks; their plans then differ, but parameters lie alike.
///
/// Running statistics of batch norm: with DdpOptions::broadcast_buffers those of rank 0 go to all
/// before each step, as torch's DistributedDataParallel does; else each rank keeps its own. Nothing
/// that is trained depends on them.
class Distributed : public Strategy {
 public:
  ~Distributed() override { finish_quietly(replica_->device()); }
  Distributed(const Distributed&) = delete;
  Distributed& operator=(const Distributed&) = delete;

  [[nodiscard]] Replica& replica() override { return *replica_; }
  /// Where the communicator works on the device too, or one rank has nothing to send.
  [[nodiscard]] bool record_steps() override;

 protected:
  /// Whose parameters all ranks begin with, before the first step.
  static constexpr Size kRoot = 0;

  /// Called by all ranks: throws a run error that names two ranks and what differs where their
  /// models do, or what they train them with. A global batch that is not what the ranks' parts add
  /// up to is a defect.
  explicit Distributed(StrategyContext context);

  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] const DdpOptions& options() const { return options_; }
  /// How gradients are reduced: a sum. One rank sends none, so that none are rounded.
  [[nodiscard]] Reduction reduction() const {
    return {.scale = 1, .wire = communicator_.world_size() > 1 ? options_.wire : WireType::fp32};
  }
  [[nodiscard]] Values gradients(Range slice);
  [[nodiscard]] Values parameters(Range slice);
  /// For a collective that is to begin after all that the replica's queue was given so far, and is
  /// started at once.
  [[nodiscard]] const Event* after_given();
  /// What the replica's queue is given from now on begins after that operation. Time on this thread
  /// is the phase communication.
  void order(Communicator::Ticket ticket);
  /// Starts to sum the loss over ranks, where the communicator works on the device, after `ready`,
  /// once in a step: within backward where that communicates, else it is started behind it. On the
  /// host, which would compute no further meanwhile, it is the last that a step does.
  void start_loss(const Event& ready);

 private:
  /// Backward has announced the gradients of `slice`, which are final after `ready`: starts what
  /// can be started of their reduction.
  virtual void on_gradients(Range slice, Program::ReadyMark ready) = 0;
  /// Backward was given to the queue: starts the rest.
  virtual void on_backward_end() = 0;
  /// Orders the replica's queue after the reduction of those gradients that this rank updates with.
  virtual void order_reduction() = 0;
  /// The gradients that this rank updates with.
  [[nodiscard]] virtual std::span<const Range> reduced_slices() = 0;
  /// Number `step` from 1: makes all ranks' parameters those after the update, once the queue was
  /// ordered after all that was started, and returns the last of it; none where nothing was.
  /// order_reduction need not have been called.
  virtual std::optional<Communicator::Ticket> update(Size step) = 0;

  void take_step() override;
  void make_step();
  void record_step();
  void record_update();
  void replay_step();
  void end_backward();
  void end_update(std::optional<Communicator::Ticket> last);
  float read_loss() override;
  void check_agreement();
  [[nodiscard]] std::vector<std::uint64_t> of_all_ranks(const std::vector<std::uint64_t>& own);
  void share_first_parameters();
  void share_running_statistics();
  void sum_over_ranks(std::span<float> cell);
  void wait_for_operations();
  void find_non_finite();
  [[nodiscard]] bool read_finite();
  void after_observed_step() override;

  std::unique_ptr<Replica> replica_;
  Communicator& communicator_;
  ControlChannel& control_;
  DdpOptions options_;
  std::vector<double> arrivals_;                             ///< of an observed step, by rank
  std::unique_ptr<Event> given_;                             ///< recorded for each collective
  std::optional<Communicator::Ticket> last_ = std::nullopt;  ///< that a reader has to wait for
  bool sums_loss_ = false;                                   ///< in this step, already
  bool records_ = false;
};

}  // namespace ptbench

#pragma once

#include <cstdint>
#include <memory>
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
  [[nodiscard]] Replica& replica() override { return *replica_; }

 protected:
  /// Whose parameters all ranks begin with, before the first step.
  static constexpr Size kRoot = 0;

  /// Called by all ranks: throws a run error that names two ranks and what differs where their
  /// models do, or what they train them with. A global batch that is not what the ranks' parts add
  /// up to is a defect.
  explicit Distributed(StrategyContext context);

  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] const DdpOptions& options() const { return options_; }
  /// Of gradients: a sum.
  [[nodiscard]] Reduction reduction() const { return {.scale = 1, .wire = options_.wire}; }
  [[nodiscard]] std::span<float> gradients(Range slice);
  [[nodiscard]] std::span<float> parameters(Range slice);
  /// Time on this thread that is the phase communication.
  void wait(Communicator::Ticket ticket);

 private:
  /// Runs this rank's micro-batches and starts what can be started of the reduction. Returns the
  /// rank's share of the loss.
  virtual float compute_gradients() = 0;
  /// Waits until this rank has those gradients that it updates with.
  virtual void finish_reduction() = 0;
  /// Whether the gradients that this rank updates with are finite, after finish_reduction.
  [[nodiscard]] virtual bool gradients_finite() = 0;
  /// Number `step` from 1: makes all ranks' parameters those after the update, once all that it
  /// started was waited for. finish_reduction need not have been called.
  virtual void update(Size step) = 0;

  /// What an observed step knows of its ranks' pace.
  struct Arrival {
    double seconds = 0;        ///< when this rank had computed its gradients
    double communication = 0;  ///< seconds of it in all steps until then
  };

  float take_step() override;
  void check_agreement();
  [[nodiscard]] std::vector<std::uint64_t> of_all_ranks(const std::vector<std::uint64_t>& own);
  void share_first_parameters();
  void share_running_statistics();
  [[nodiscard]] float sum_over_ranks(std::span<float> cell, float value);
  [[nodiscard]] bool agree_on_finiteness();
  void note_arrival();
  void after_observed_step() override;

  std::unique_ptr<Replica> replica_;
  Communicator& communicator_;
  DdpOptions options_;
  Arrival arrival_;               ///< of the step that is observed
  std::vector<double> arrivals_;  ///< by rank
  Buffer cells_;                  ///< single values that ranks sum, a cache line each
};

}  // namespace ptbench

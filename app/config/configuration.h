#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "app/config/device_choice.h"
#include "app/config/program_command.h"
#include "app/config/run_options.h"
#include "src/data/sampler.h"
#include "src/device/topology.h"
#include "src/measure/run_id.h"
#include "strategies/replica.h"
#include "strategies/strategy_catalog.h"
#include "workloads/workload_catalog.h"

namespace ptbench {

/// What a run does, whole and consistent: options with every default filled in.
struct RunConfig {
  RunOptions options;
  Workload workload;
  StrategyRow strategy;
  OptimizerSpec optimizer;
  ElementType type = ElementType::f32;  ///< of what is multiplied
  LossScaleSpec loss_scale = {};
  std::string precision;                  ///< its name on the command line
  ChosenDevice device;                    ///< of every replica
  bool graph = false;                     ///< each step is given to the device as one graph
  int threads = 1;                        ///< of one CPU replica
  BatchShape batch;                       ///< as this process has it, or its first replica
  Size synthetic_samples = 0;             ///< in an epoch; 0 for real data
  DdpOptions data_parallel;               ///< how several ranks communicate
  std::string id;                         ///< of the record
  std::optional<ProgramCommand> program;  ///< what trains, where ptbench itself does not
  /// Samples in one replica's micro-batch, the largest.
  [[nodiscard]] Size batch_size() const {
    return batch.shares.empty() ? batch.micro_batch : std::ranges::max(batch.shares);
  }
  /// How many times slower than it could that rank is to compute; 1 for all that are as they are.
  [[nodiscard]] double slowdown_of(Size of_rank) const {
    const auto& slow = options.slow_rank;
    return slow && slow->rank == of_rank ? slow->factor : 1;
  }
  /// Whether that rank has the gradients of one operator at a time. Not where they are added up, a
  /// device with memory of its own updates by all in one go, loss scaling looks at all of them
  /// before that, or a rank that is to be slow is slowed down between backward and update.
  [[nodiscard]] bool lets_gradients_pass(Size of_rank) const {
    return strategy.lets_gradients_pass && batch.accumulation_steps == 1 && device.is_cpu() &&
           loss_scale.kind == LossScaling::none && slowdown_of(of_rank) == 1;
  }
  /// What was done to make ranks unequal, as options would say it; empty: nothing.
  [[nodiscard]] std::vector<OptionValue> imbalance() const;
  /// Which rank this process is; 0 where it is the run.
  [[nodiscard]] Size rank() const { return options.place.rank.value_or(0); }
  /// Number of the core for the first thread, of those that this process may use; they wrap round.
  [[nodiscard]] int first_core() const {
    const Size place = options.core_share ? options.core_share->index : rank();
    return threads * static_cast<int>(place);
  }
  /// Whether a process of its own chooses operators, or verifies, before the first repetition.
  [[nodiscard]] bool needs_preparation() const {
    return !program || !program->verification.empty();
  }
  /// Processes of one run.
  [[nodiscard]] Size processes() const { return strategy.one_process ? 1 : options.nproc; }
  /// Whether ranks of its own have to be started.
  [[nodiscard]] bool needs_ranks() const {
    return options.nproc > 1 && !strategy.one_process && !options.orders.region && !program;
  }
};

/// Checks what is `given` against the catalogs, the machine and each other. Throws usage errors
/// (unknown names, impossible combinations) and capability errors (devices, precisions and
/// communicators that are not here).
[[nodiscard]] RunConfig configure_run(const RunOptions& given, const Topology& topology);

}  // namespace ptbench

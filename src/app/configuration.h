#pragma once

#include <string>
#include <vector>

#include "src/app/run_config.h"
#include "src/device/topology.h"
#include "src/measure/run_id.h"
#include "strategies/catalog.h"
#include "strategies/replica.h"
#include "workloads/catalog.h"

namespace ptbench {

/// What a run does, whole and consistent: options with every default filled in.
struct RunConfig {
  RunOptions options;
  Workload workload;
  StrategyRow strategy;
  StepSpec step;                        ///< optimizer, accumulation, loss scale
  ElementType type = ElementType::f32;  ///< of what is multiplied
  std::string precision;                ///< its name on the command line
  int threads = 1;                      ///< of one CPU replica
  Size batch = 0;                       ///< samples in one replica's micro-batch
  Size global_batch = 0;                ///< samples in one optimizer step
  Size synthetic_samples = 0;           ///< in an epoch; 0 for real data
  DdpOptions data_parallel;             ///< how several ranks communicate
  std::string id;                       ///< of the record
  /// Which rank this process is; 0 where it is the run.
  [[nodiscard]] Size rank() const { return options.rank.value_or(0); }
  /// Whether ranks of its own have to be started.
  [[nodiscard]] bool needs_ranks() const { return options.nproc > 1 && !options.region; }
};

/// Checks `options` against the catalogs, the machine and each other. Throws usage errors (unknown
/// names, impossible combinations) and capability errors (devices and precisions that are not
/// here).
[[nodiscard]] RunConfig configure_run(const RunOptions& options, const Topology& topology);

}  // namespace ptbench

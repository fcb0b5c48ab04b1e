#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/config/configuration.h"
#include "src/device/topology.h"
#include "src/judge/scaling.h"
#include "src/measure/record.h"
#include "src/session/rank_launcher.h"
#include "src/session/sweep_options.h"

namespace ptbench {

/// One configuration of a sweep.
struct SweepRow {
  /// What is known before anything is measured. Status `skipped` and a reason: impossible here.
  RunRecord record;
  std::vector<std::string> arguments;  ///< of the `run` that measures it, as "--batch-size=32"
  std::optional<RankLauncher> launcher = std::nullopt;  ///< starts its ranks; empty: ptbench does
  std::optional<ScalingPlan> scaling;  ///< what it is compared with; empty where nothing is
  /// Id of the row of the same options by the engine that is named first; empty where it is that.
  std::string first_engine;
  bool starts_program = false;    ///< that trains in ptbench's place
  bool needs_preparation = true;  ///< as SessionSetup has it
  double step_operations = 0;     ///< of a step; 0: not known
  bool reads_data = false;  ///< from a directory: only its processes know whether that will do

  [[nodiscard]] const std::string& id() const { return record.id; }
  [[nodiscard]] bool is_possible() const { return record.status != Status::skipped; }
};

/// The row of a configuration that was given so.
[[nodiscard]] SweepRow sweep_row(const RunConfig& config,
                                 std::span<const NamedAssignment> assignments);

/// Most combinations of values that a sweep takes.
inline constexpr std::size_t kMostSweepRows = 10'000;

/// Every combination of the lists, the first option varying slowest; equal ids once. Strategies of
/// one replica ignore --nproc, and beside others how ranks communicate. Without --threads, all rows
/// get the threads that the one with the most replicas gets.
///
/// With --scaling, or without it where some row has several replicas (weak, but strong with
/// --global-batch), each possible row is compared with a baseline: serial with the same options and
/// work. One that is not in the grid stands before the first row that needs it. Rows that use as
/// many cores as the largest one does are compared with serial training on all of these too, with
/// their global batch; such rows stand at the end. In strong scaling serial training with the
/// micro-batch of each row is added after these, so that what smaller micro-batches cost is told
/// from the rest. There the workload's batch is the
/// global one unless --global-batch is given. With several engines, each row of another than the
/// first one is compared with that one's row of the same options. Usage errors: too many rows, none
/// that is possible, two models of one name, a batch that contradicts --scaling.
[[nodiscard]] std::vector<SweepRow> sweep_rows(const SweepOptions& options,
                                               const Topology& topology);

}  // namespace ptbench

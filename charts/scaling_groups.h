#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "charts/chart_source.h"
#include "charts/charted_runs.h"

namespace ptbench {

/// Serial training that a run is held against.
struct ScalingBaseline {
  const ChartedRun* serial = nullptr;     ///< null: not in the file, or without a figure
  const ChartedRun* all_cores = nullptr;  ///< the same
};

/// Runs that were measured, by file and id. They outlive it.
class MeasuredRuns {
 public:
  explicit MeasuredRuns(std::span<const ChartedRun> runs);

  /// What `run`, which has a scaling, is held against.
  [[nodiscard]] ScalingBaseline baseline_of(const ChartedRun& run) const;

 private:
  [[nodiscard]] const ChartedRun* find(const ResultFile* file,
                                       const std::optional<std::string>& id) const;

  std::map<std::pair<const ResultFile*, std::string_view>, const ChartedRun*> by_id_;
};

/// Runs of one workload, precision and scaling mode that have speedup and efficiency.
struct ScalingGroup {
  std::string title;  ///< "mlp in fp32, weak scaling"
  std::vector<ChartedRun> runs;
};
[[nodiscard]] std::vector<ScalingGroup> scaling_groups(std::span<const ChartedRun> measured);

/// Serial training on all cores, which some runs of a group are held against too.
struct AllCores {
  std::string name;  ///< "serial on all cores"
  double speedup = 0;
  /// Ranks that would use as many threads; empty: not known.
  std::optional<double> ranks;
  bool trusted = true;  ///< both sides are reliable
  std::string note;
};
[[nodiscard]] std::vector<AllCores> all_cores_of(const ScalingGroup& group,
                                                 const MeasuredRuns& measured);

/// Whether `run` and its baseline are reliable.
[[nodiscard]] bool is_trusted(const ChartedRun& run, const MeasuredRuns& measured);

/// "71.7 ± 1.2 % efficiency, 17.0 k samples/s ± 2 %, 4 of 5 repetitions clean", and what is the
/// matter with its baseline.
[[nodiscard]] std::string scaling_note(const ChartedRun& run, const MeasuredRuns& measured);

/// The axis of ranks on which all runs of a group lie.
[[nodiscard]] Axis axis_of_ranks(const ScalingGroup& group);

/// Fewest and most ranks of a group.
[[nodiscard]] std::pair<double, double> span_of_ranks(const ScalingGroup& group);

/// What the charts of a group say below them; `meaning` is a sentence without full stop.
[[nodiscard]] std::string scaling_caption(const std::string& meaning, const ScalingGroup& group);

}  // namespace ptbench

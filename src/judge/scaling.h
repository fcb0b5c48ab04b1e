#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// What a run is compared with.
struct ScalingPlan {
  ScalingMode mode = ScalingMode::weak;
  std::string baseline;   ///< id of the serial run of the same settings
  std::string one_rank;   ///< id of the strategy's own run of one rank
  std::string all_cores;  ///< id of the serial run on as many cores with as large a global
                          ///< batch; empty: there is none
  /// Id of the serial run, on one replica's threads, of micro-batches as large as the run's; empty:
  /// there is none, or the baseline is it.
  std::string same_micro_batch;
  bool in_rounds = false;  ///< its k-th repetition was made in the k-th round of the sweep
};

/// Sets `scaling` of each of `runs` to which `plans` (as many, in their order) has a plan, and
/// clears that of the others. With g samples in the optimizer step of a run on n ranks, and G in
/// that of its baseline:
///   speedup = throughput / the baseline's, efficiency = speedup / n,
///   efficiency_vs_all_cores = throughput / that of serial training on all cores.
/// `efficiency_ci95` is efficiency · e^±h, where h is t·√(s²/m + S²/M): s, m are deviation and
/// number of the logarithms of the mean steps of the repetitions that speak for the run, S, M those
/// of the baseline, drawn towards the prior as in `compare`; degrees of freedom after Welch. Unlike
/// there, placement classes need not match: a serial run on one core has none. Where the same
/// rounds speak for both, and these rounds' times correlate (r > 0, one-sided level 5 %, so that
/// luck is seldom taken for it), h is that of the rounds' differences if it is smaller. Where at
/// least 3 repetitions of the one took turns with the other's (`RepetitionRecord::lockstep`), the
/// ratio is that of the throughputs in these, and h that of their differences: of the clean ones
/// where there are 3, else of all (`turns_together`). Empty with fewer than 3 repetitions on either
/// side. `efficiency_vs_all_cores_ci95` is made in the same way.
///
/// Where n ranks are on H hosts, as many on each, and one run of the same `one_rank` has n/H ranks
/// on one host (`one_host`):
///   efficiency_across_hosts = throughput / (H · that run's), with its interval,
///   efficiency_within_hosts = that run's throughput / (n/H · that of one rank), if that was
///   measured,
/// and `predicted` is as host_scaling.h has it. Nothing of these where no run, or more than one, is
/// such a run.
///
/// Runs that are not ok or have no throughput have no scaling. Those whose baseline has none, or is
/// not among `runs`, have a warning "no-baseline" instead. A baseline's own speedup and efficiency
/// are 1, without interval and loss.
void add_scaling(std::span<RunRecord> runs, std::span<const std::optional<ScalingPlan>> plans,
                 const PriorNoise& prior);

}  // namespace ptbench

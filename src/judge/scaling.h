#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// What a run is compared with.
struct ScalingPlan {
  ScalingMode mode = ScalingMode::weak;
  std::string baseline;  ///< id of the serial run of the same settings
  std::string one_rank;  ///< id of the strategy's own run of one rank
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ calls it forgotten otherwise
  std::string all_cores = {};  ///< id of the serial run on as many cores with as large a global
                               ///< batch; empty: there is none
  /// Id of the serial run, on one replica's threads, of micro-batches as large as the run's; empty:
  /// there is none, or the baseline is it.
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ calls it forgotten otherwise
  std::string same_micro_batch = {};
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
/// least 3 repetitions of the one took turns with the other's (`RepetitionRecord::lockstep`), clean
/// or not, ratio and h are those of the differences of these: the other's throughput is then what
/// it was in these turns. Empty with fewer than 3 repetitions on either side.
/// `efficiency_vs_all_cores_ci95` is made in the same way.
///
/// Runs that are not ok or have no throughput have no scaling. Those whose baseline has none, or is
/// not among `runs`, have a warning "no-baseline" instead. A baseline's own speedup and efficiency
/// are 1, without interval and loss.
void add_scaling(std::span<RunRecord> runs, std::span<const std::optional<ScalingPlan>> plans,
                 const PriorNoise& prior);

/// Where the efficiency went. With the run's mean step T, and T1 the baseline's for the same work
/// per rank (its mean · g / (G · n): the baseline's own in weak scaling, 1/n of it in strong),
///   1 − efficiency = (T − T1) / T,
/// which is the sum of, each over T:
///   compute_slowdown: least compute of a rank (forward + backward) and rank 0's optimizer − those
///                     of serial training with micro-batches as large (`same_micro_batch`);
///   batch_effect: the latter − the baseline's: what smaller micro-batches take longer for as many
///                 samples, an update for fewer of them included. 0 where micro-batches are as
///                 large as the baseline's. Empty where `same_micro_batch` is null or not timed:
///                 then compute_slowdown is against the baseline, and holds it too;
///   wait: the longest that a rank had nothing to do but wait for slower ones;
///   communication: rank 0's communication_exposed − its wait (not below 0), and scatter +
///                  replicate + gather + reduce;
///   data: rank 0's − the baseline's;
///   overhead: the rest.
/// The phases of serial runs count for the same work per rank. Phases and ranks are of a pass of
/// their own: both are scaled so that the phases add up to the mean step. Terms may be negative: an
/// optimizer whose work the ranks share computes less than a serial one. Empty where a figure is
/// missing.
[[nodiscard]] ScalingLossRecord scaling_loss(const RunRecord& run, const RunRecord& baseline,
                                             const RunRecord* same_micro_batch = nullptr);

enum class LossCause : std::uint8_t {
  compute_slowdown,
  batch_effect,
  communication,
  wait,
  data,
  overhead
};
[[nodiscard]] std::string_view name_of(LossCause cause);

/// A term of the loss.
struct LossTerm {
  LossCause cause = LossCause::overhead;
  double share = 0;  ///< of the step
};
/// What cost most; empty where the loss is not known.
[[nodiscard]] std::optional<LossTerm> largest_term(const ScalingLossRecord& loss);

/// A rank that keeps the others waiting.
struct Straggler {
  Size rank = 0;
  double share = 0;  ///< by which it computes longer than the median of the others
};
/// The slowest rank, if it computes over 5 % longer than the median of the others.
[[nodiscard]] std::optional<Straggler> find_straggler(std::span<const RankRecord> ranks);
/// The options that make `rank` compute longer than others on purpose, as the run's id tells:
/// "--shares", "--slow-rank", or "--shares and --slow-rank"; empty: none.
[[nodiscard]] std::string slowing_options(const RunRecord& run, Size rank);
/// Whether the run's threads outnumber the cores, as its warnings tell.
[[nodiscard]] bool shares_cores(const RunRecord& run);
/// Sets or removes the warning "straggler". Where ranks share cores, another warning says so, and
/// one rank is only named if it is slow on purpose.
void add_straggler_warning(RunRecord& run);

}  // namespace ptbench

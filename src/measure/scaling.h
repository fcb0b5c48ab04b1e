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
  bool in_rounds = false;      ///< its k-th repetition was made in the k-th round of the sweep
};

/// Sets `scaling` of each of `runs` to which `plans` (as many, in their order) has a plan, and
/// clears that of the others. With g samples in the optimizer step of a run on n ranks, and G in
/// that of its baseline:
///   speedup = throughput / the baseline's, efficiency = speedup / n,
///   efficiency_vs_all_cores = throughput / that of serial training on all cores.
/// `efficiency_ci95` is efficiency · e^±h, where h is t·√(s²/m + S²/M): s, m are deviation and
/// number of the logarithms of the mean steps of the repetitions that speak for the run, S, M those
/// of the baseline, drawn towards the prior as in `compare`; degrees of freedom after Welch ("The
/// generalization of Student's problem", 1947). Unlike there, placement classes need not match: a
/// serial run on one core has none. Where the same rounds speak for both, and these rounds' times
/// correlate (r > 0, one-sided level 5 %, so that luck is seldom taken for it), h is that of the
/// rounds' differences if it is smaller. Empty with fewer than 3 repetitions on either side.
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
///   compute_slowdown: least compute of a rank (forward + backward) and rank 0's optimizer − the
///                     baseline's of both;
///   batch_effect: 0 where micro-batches are as large as the baseline's; else empty, and
///                 compute_slowdown holds what smaller ones cost too;
///   wait: the longest that a rank had nothing to do but wait for slower ones;
///   communication: rank 0's communication_exposed − its wait (not below 0), and scatter +
///                  replicate + gather + reduce;
///   data: rank 0's − the baseline's;
///   overhead: the rest.
/// The baseline's phases count for the same work per rank. Phases and ranks are of a pass of their
/// own: both are scaled so that the phases add up to the mean step. Terms may be negative: an
/// optimizer whose work the ranks share computes less than the baseline. Empty where a figure is
/// missing.
[[nodiscard]] ScalingLossRecord scaling_loss(const RunRecord& run, const RunRecord& baseline);

enum class LossCause : std::uint8_t { compute_slowdown, communication, wait, data, overhead };
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

struct ScalingPoint {
  Size ranks = 1;
  double speedup = 1;
};

/// The part of a step that more ranks do not make faster.
struct SerialFraction {
  double fraction = 0;                    ///< s, in [0, 1]
  std::optional<double> largest_speedup;  ///< in the points' unit; empty: there is no limit
};
/// Least squares over all points of, in strong scaling, Amdahl's law ("Validity of the single
/// processor approach to achieving large scale computing capabilities", 1967),
///   S(n) = 1 / (s + (1 − s) / n), in the form 1/S − 1/n = s · (1 − 1/n),
/// and in weak scaling of Gustafson's ("Reevaluating Amdahl's law", 1988),
///   S(n) = n − s · (n − 1).
/// S is over the point of one rank, where there is one, and the largest speedup that point's over
/// s, so that it stands beside the others' speedups. Both are s = Σxy / Σx²; that of Amdahl's
/// law is a mean of Karp and Flatt's metric ("Measuring parallel processor performance", 1990).
/// Empty without two points of different n; speedups are positive.
[[nodiscard]] std::optional<SerialFraction> fit_serial_fraction(
    ScalingMode mode, std::span<const ScalingPoint> points);

/// Runs of one strategy that differ in the number of ranks, and in what follows from it.
struct ScalingFamily {
  std::vector<const RunRecord*> runs;  ///< by ascending number; points into what it was made from
  std::optional<SerialFraction> serial_fraction;
};
/// Of the runs with a scaling, those with some run of several ranks; in the order in which they
/// begin in `runs`.
[[nodiscard]] std::vector<ScalingFamily> scaling_families(std::span<const RunRecord> runs);

}  // namespace ptbench

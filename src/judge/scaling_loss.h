#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/measure/record.h"

namespace ptbench {

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

}  // namespace ptbench

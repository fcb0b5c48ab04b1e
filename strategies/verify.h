#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/measure/record.h"
#include "strategies/gradient_check.h"
#include "strategies/strategy.h"
#include "strategies/verified_ranks.h"

namespace ptbench {

/// What one step of two trainings from equal states may differ by.
struct VerificationBounds {
  double loss = 1e-6;  ///< |Δloss| ≤ loss · max(1, |loss|)
  GradientBounds gradients;
  /// Of running statistics, in every tensor: ‖Δmean‖ ≤ statistics · ‖deviation‖, ‖Δvariance‖ ≤
  /// statistics · ‖variance‖.
  double statistics = 1e-5;
  /// The record's: that of gradients.
  [[nodiscard]] double tolerance() const {
    return gradients.distance > 0 ? gradients.distance : gradients.length;
  }
};

/// Begins the reason where the oracle's own loss is not finite: nothing is known of the match.
inline constexpr std::string_view kOracleDiverges = "training itself diverges";

/// Compared steps that make a verification whole: that many were not skipped, and at least so many
/// of these began with optimizer state.
inline constexpr Size kAppliedSteps = 5;
inline constexpr Size kStatefulSteps = 3;
/// Below this slope the gradient of other arithmetic points too far from the oracle's to say more
/// of it than how long it is.
inline constexpr double kWeakDirection = 0.5;

/// How long the steps took that were compared, in which both sides take turns.
struct ComparedSteps {
  std::vector<double> tested;  ///< seconds
  std::vector<double> oracle;  ///< seconds
};

/// Compares single steps of `tested` and `oracle`, each from equal states: before every step the
/// oracle's parameters, running statistics, optimizer state and loss scaler are copied to the
/// tested side, by way of `ranks` to all of its ranks. So rounding that takes a ReLU to the other
/// side of zero has no time to part the two. Compared are the loss, the reduced gradient without
/// its loss scale, and running statistics; parameters and optimizer state are held against the rule
/// of the optimizer, applied to the tested side's own gradient. Where updates are too small beside
/// the parameters to be seen, both sides are given a larger learning rate.
///
/// Ends after kAppliedSteps, or when `keep_going`, asked after each step, says no; one step is
/// compared in any case. The record's steps, rate, error (the largest share of its bound that a
/// difference reached, times the bound of gradients), tolerance and worst tensor are filled in.
/// What does not match is `failed`, with the reason; what was compared too little is `weak`.
/// `steps` gets their seconds by `clock`.
[[nodiscard]] VerificationRecord verify(Strategy& tested, Strategy& oracle, VerifiedRanks& ranks,
                                        const VerificationBounds& bounds,
                                        const std::function<bool()>& keep_going, const Clock& clock,
                                        ComparedSteps& steps);

}  // namespace ptbench

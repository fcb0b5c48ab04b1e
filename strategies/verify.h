#pragma once

#include <functional>

#include "src/measure/record.h"
#include "strategies/strategy.h"

namespace ptbench {

/// What two trainings of the same data may differ by.
struct VerificationBounds {
  double loss = 1e-5;              ///< every |Δloss| ≤ loss · max(1, |loss|)
  double parameters = 1e-4;        ///< ‖Δp‖ ≤ parameters · ‖p‖ for every tensor; 0: not compared
  bool running_statistics = true;  ///< of batch norm too; not where ranks keep their own
};

/// Trains `tested` and `oracle` side by side for at most `steps` steps, both from the weights that
/// they hold, and compares losses and parameters. Ends early when `keep_going`, asked after each
/// step, says no; one step is compared in any case. The record's steps, error (the largest share of
/// its bound that a difference reached, times the bound of losses), tolerance and worst tensor are
/// filled in; what does not match is `failed`, with the reason.
[[nodiscard]] VerificationRecord verify(Strategy& tested, Strategy& oracle,
                                        const VerificationBounds& bounds, Size steps,
                                        const std::function<bool()>& keep_going);

}  // namespace ptbench

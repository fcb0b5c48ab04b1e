#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/measure/record.h"
#include "strategies/strategy.h"

namespace ptbench {

/// What two trainings of the same data may differ by.
struct VerificationBounds {
  double loss = 1e-5;              ///< every |Δloss| ≤ loss · max(1, |loss|)
  double parameters = 1e-4;        ///< ‖Δp‖ ≤ parameters · ‖p‖ for every tensor; 0: not compared
  bool running_statistics = true;  ///< of batch norm too; not where ranks keep their own
};

/// Begins the reason where the oracle's own loss is not finite: nothing is known of the match.
inline constexpr std::string_view kOracleDiverges = "training itself diverges";

/// Trains `tested` and `oracle` side by side for at most `steps` steps, both from the weights that
/// they hold, and compares losses and parameters. Ends early when `keep_going`, asked after each
/// step, says no; one step is compared in any case. Of several ranks these are those of rank 0:
/// `differing_rank`, asked after each step of `tested`, says which other one has parameters of its
/// own. The record's steps, error (the largest share of its bound that a difference reached, times
/// the bound of losses), tolerance and worst tensor are filled in; what does not match is `failed`,
/// with the reason.
[[nodiscard]] VerificationRecord verify(
    Strategy& tested, Strategy& oracle, const VerificationBounds& bounds, Size steps,
    const std::function<bool()>& keep_going,
    const std::function<std::optional<Size>()>& differing_rank = {});

/// The first rank whose parameters are not those of rank 0, bit for bit; empty where there is none,
/// as after each step of a data-parallel strategy. Running statistics may differ. All ranks call it
/// between the same two steps, and get one answer.
[[nodiscard]] std::optional<Size> first_differing_rank(Strategy& tested, Communicator& communicator,
                                                       Communicator::Timeout timeout);

}  // namespace ptbench

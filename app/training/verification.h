#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/training/training_setup.h"
#include "src/measure/record.h"
#include "strategies/conductor.h"
#include "strategies/verify.h"

namespace ptbench {

/// Whether and with what a run is compared before it is timed.
struct VerificationPlan {
  TrainingShape tested;
  std::optional<TrainingShape> oracle;  ///< empty: nothing to compare with
  bool on_host = false;  ///< the oracle computes on the CPU, the tested training elsewhere
  VerificationBounds bounds;
  Size statistics_period =
      1;               ///< the oracle's running statistics follow every so many micro-batches
  std::string reason;  ///< why nothing is compared, where that is so
  bool lacks_memory = false;  ///< that is why
};

/// The oracle of several ranks is one replica that trains their micro-batches in turn, in the same
/// precision. Of one rank: the oracle of accumulation is the unsplit batch, that of another
/// precision is fp32, that of another device than the CPU computes on the CPU; models with batch
/// norm see other statistics in another micro-batch, so these keep it. Both begin two steps before
/// the end of an epoch. Nothing is compared where two copies would not fit into the memory that is
/// left.
[[nodiscard]] VerificationPlan plan_verification(const TrainingContext& context,
                                                 const TrainingShape& shape);

/// What a verification found.
struct Verified {
  VerificationRecord record;
  ComparedSteps steps;  ///< where both sides did the same work on one device; else none
};

/// Compares steps of both from equal states, on copies that are gone afterwards, for a minute at
/// the most; with --quick, unless --verify asks for more, for 1.5 s, which may be too short for all
/// steps. `planned`: the run's program, whose choices hold the oracle's too. All ranks call it;
/// what is found is rank 0's.
[[nodiscard]] Verified run_verification(const RankRole& role, const TrainingContext& context,
                                        const VerificationPlan& plan,
                                        const std::shared_ptr<const ProgramPlan>& planned,
                                        const std::function<bool()>& keep_going);

/// Warns (slower_than_fp32) where steps in the precision of `strategy` were clearly longer than
/// those of the oracle in fp32 that they were compared with. These were few, and each began with
/// cold caches: the first of either side does not count, and the shortest as well as the middle one
/// of at least four others has to be longer by a tenth.
[[nodiscard]] std::optional<WarningRecord> warning_of_pace(const StrategyRecord& strategy,
                                                           const ComparedSteps& steps);

}  // namespace ptbench

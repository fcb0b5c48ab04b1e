#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/app/training_setup.h"
#include "src/base/clock.h"
#include "src/measure/record.h"
#include "strategies/conductor.h"

namespace ptbench {

/// Whether and with what a run is compared before it is timed.
struct VerificationPlan {
  TrainingShape tested;
  std::optional<TrainingShape> oracle;  ///< empty: nothing to compare with
  std::string reason;                   ///< why not, where that is so
};

/// The oracle of several ranks is one replica that trains their micro-batches in turn, in the same
/// precision. Of one rank: that of accumulation is the unsplit batch, that of another precision is
/// fp32; models with batch norm see other statistics in another micro-batch, so these keep it.
/// Nothing is compared where two copies would not fit into the memory that is left.
[[nodiscard]] VerificationPlan plan_verification(const RunConfig& config, const Graph& graph,
                                                 const TrainingShape& shape);

/// Trains both side by side, on copies that are gone afterwards. `planned`: the run's program,
/// whose choices hold the oracle's too. On rank 0; the others follow meanwhile, and have to hold
/// its parameters after each step. Replicas of one process take them anew in each step.
[[nodiscard]] VerificationRecord run_verification(const TrainingGround& ground,
                                                  const VerificationPlan& plan,
                                                  const std::shared_ptr<const ProgramPlan>& planned,
                                                  Conductor& conductor, const Clock& clock,
                                                  const std::function<bool()>& keep_going);

/// What the other ranks do while rank 0 verifies.
void follow_verification(const TrainingGround& ground, const VerificationPlan& plan,
                         const std::shared_ptr<const ProgramPlan>& planned, Conductor& conductor);

}  // namespace ptbench

#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "app/config/run_progress.h"
#include "app/training/plan_store.h"
#include "app/training/training_setup.h"
#include "app/training/verification.h"
#include "kernels/choose.h"
#include "src/comm/control_channel.h"
#include "src/device/cpu_load.h"
#include "src/measure/record.h"
#include "strategies/conductor.h"

namespace ptbench {

/// What a run chooses before it trains, how its operators are computed and how its ranks
/// communicate, and where that is kept: in the plan file that the user named, or in this host's
/// cache. Rank 0 chooses for all. Choices that were timed beside other work are kept too, with a
/// warning: each run that chose anew could come out with another plan, and no two of them would be
/// comparable.
class RunChoices {
 public:
  /// All of it outlives the choices.
  RunChoices(const TrainingContext& context, const RankRole& role, RunProgress& watch,
             RunRecord& record);

  /// On rank 0: whether the operators of the training are chosen already.
  [[nodiscard]] bool knows_operators(const TrainingShape& shape);
  /// Choices that the training may turn out to have, on all ranks: what is known, and guesses.
  [[nodiscard]] Choices guess_operators(const TrainingShape& shape);
  /// The choices of the run's operators and of its oracle's, and what is known of communication, on
  /// all ranks. A plan file need not know the oracle's, which may be compared or not.
  [[nodiscard]] Choices choose_operators(const TrainingShape& shape, const VerificationPlan& check);

  /// How ranks communicate, where the user left that open; else as the context has it. All ranks
  /// call it. `plan` is the training's, and `choices` gets what was decided.
  [[nodiscard]] DdpOptions decide_communication(const TrainingShape& shape,
                                                const std::shared_ptr<const ProgramPlan>& plan,
                                                Choices& choices);

 private:
  [[nodiscard]] const Choices& stored();
  [[nodiscard]] Choices usable(const std::vector<OperatorSpec>& specs, Choices known) const;
  [[nodiscard]] Choices choose_and_keep(const TrainingShape& shape, const VerificationPlan& check);
  [[nodiscard]] Choices choose_for_ranks(const TrainingShape& shape, const Choices& known);
  [[nodiscard]] Choices choose_for(const TrainingShape& shape, Choices known);
  [[nodiscard]] Choices choose_quickly(const std::vector<OperatorSpec>& specs,
                                       const Choices& known);
  [[nodiscard]] Choices timed(Choices choices) const;
  [[nodiscard]] bool is_quick() const;
  void warn_of_guesses();
  [[nodiscard]] Choices communication_in(const Choices& choices) const;
  void keep(const Choices& choices, const CpuLoad& load);
  void keep_communication(Choices decided, std::optional<double> foreign_share);
  void keep_for_repetitions(const Choices& choices) const;
  void warn_of_load(std::string_view kind, std::string_view timed, double foreign_share);

  const TrainingContext& context_;
  const RunOptions& options_;
  const RankRole& role_;
  RunProgress& watch_;
  RunRecord& record_;
  std::optional<PlanStore> store_;  ///< on rank 0
  Choices stored_;                  ///< on rank 0, by the store
  Choices operators_;               ///< on rank 0, as timed
  Choices guessed_;                 ///< on rank 0, for want of time
  std::optional<double> begin_;     ///< of choosing, on rank 0
};

/// Rank 0's choices, on all ranks. Waits for rank 0 as long as choosing may take.
[[nodiscard]] Choices share_choices(ControlChannel& control, const Choices& choices);

}  // namespace ptbench

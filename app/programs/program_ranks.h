#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/programs/program_messages.h"
#include "src/base/size.h"

namespace ptbench {

/// A step that all ranks have done.
struct WorldStep {
  std::int64_t number = 0;
  std::int64_t nanoseconds = 0;  ///< of the slowest rank
};

/// What the processes of a program have told: who they are, and the steps of each, until all ranks
/// have done a step and it is taken. What they say is checked against what they were granted and
/// have said before; each breach is a run error that names it.
class ProgramRanks {
 public:
  /// `world_size`: what --nproc says; empty: what the first process says.
  explicit ProgramRanks(std::optional<Size> world_size) : world_size_(world_size) {}

  /// A process introduces itself. Returns its rank.
  Size join(const ProgramHello& hello);
  /// A rank has done steps, none of them beyond `granted`.
  void report(Size rank, ProgramReport report, std::int64_t granted);

  /// Whether all ranks of the world are there.
  [[nodiscard]] bool is_complete() const;
  /// By rank; all of them once the world is complete.
  [[nodiscard]] const std::vector<std::optional<ProgramHello>>& hellos() const { return hellos_; }
  /// Samples that all ranks train on in one step.
  [[nodiscard]] Size samples() const;
  /// Tokens of all ranks in one step; empty where not all tell theirs.
  [[nodiscard]] std::optional<Size> tokens() const;

  /// Number of the last step that every rank has done; 0: none.
  [[nodiscard]] std::int64_t done() const;
  /// The rank that has done the fewest steps.
  [[nodiscard]] Size slowest() const;
  /// The next step that all have done, in turn; empty where there is none yet.
  [[nodiscard]] std::optional<WorldStep> take();

  /// Of rank 0.
  [[nodiscard]] std::optional<double> first_loss() const { return first_loss_; }
  [[nodiscard]] std::optional<double> last_loss() const { return last_loss_; }

  /// From now on what ranks tell of phases is kept, with the times of their steps.
  void keep_phases() { keeps_phases_ = true; }
  struct Observed {
    std::vector<ProgramStep> steps;
    std::vector<ProgramSpan> spans;  ///< of these steps
  };
  /// What was kept, by rank.
  [[nodiscard]] const std::vector<Observed>& observed() const { return observed_; }

 private:
  struct Told {
    std::int64_t last = 0;               ///< number of its last step
    std::int64_t last_end = 0;           ///< of that step
    std::deque<std::int64_t> durations;  ///< of steps that were not taken, the next one first
  };

  void take_step(Size rank, const ProgramStep& step, std::int64_t granted);
  void take_losses(Size rank, const ProgramReport& report);
  void take_spans(Size rank, ProgramReport report);

  std::optional<Size> world_size_;
  std::vector<std::optional<ProgramHello>> hellos_;
  std::vector<Told> told_;
  std::vector<Observed> observed_;
  std::int64_t taken_ = 0;
  bool keeps_phases_ = false;
  std::optional<double> first_loss_;
  std::optional<double> last_loss_;
};

}  // namespace ptbench

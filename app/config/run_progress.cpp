#include "app/config/run_progress.h"

namespace ptbench {

RunProgress::RunProgress(const RunSurroundings& around, Size rank)
    : around_(around),
      rank_(rank),
      board_(around.region != nullptr ? around.region->phases() : std::span(own_slot_)) {}

void RunProgress::enter(RankPhase phase) {
  board_.enter(rank_, phase);
  around_.progress.announce(name_of(phase));
  if (rank_ == 0) stop_if_interrupted();
}

void RunProgress::stop_if_interrupted() const {
  if (!is_interrupted()) return;
  give_up_interrupted();
  throw Interrupted{};
}

void RunProgress::give_up_interrupted() const {
  if (around_.region != nullptr) around_.region->give_up(rank_, kInterruptedReason);
}

}  // namespace ptbench

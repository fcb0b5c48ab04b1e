#include "app/training/rank_role.h"

namespace ptbench {

bool RankRole::decide(FunctionRef<bool()> answer) const {
  return conductor_.agree(leads() && answer());
}

void RankRole::in_step(Strategy& strategy, FunctionRef<void()> lead,
                       const Conductor::Follower& follower) const {
  if (!leads()) {
    conductor_.follow(strategy, follower);
    return;
  }
  conductor_.lead(strategy);
  lead();
  conductor_.stop();
}

}  // namespace ptbench

#include "app/training/rank_facts.h"

#include <span>

namespace ptbench {

std::vector<RankFacts> gather_facts(ControlChannel& control, const RankFacts& own,
                                    Communicator::Timeout timeout) {
  std::vector<RankFacts> all;
  if (control.rank() == 0) all.resize(static_cast<std::size_t>(control.world_size()));
  control.gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)), 0,
                 timeout);
  return all;
}

}  // namespace ptbench

#include "src/training/rank_facts.h"

#include <span>

namespace ptbench {

std::vector<RankFacts> gather_facts(Communicator& communicator, const RankFacts& own,
                                    Communicator::Timeout timeout) {
  std::vector<RankFacts> all;
  if (communicator.rank() == 0) all.resize(static_cast<std::size_t>(communicator.world_size()));
  communicator.wait(communicator.start_gather(std::as_bytes(std::span(&own, 1)),
                                              std::as_writable_bytes(std::span(all)), 0),
                    timeout);
  return all;
}

}  // namespace ptbench

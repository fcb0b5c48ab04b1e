#include "src/app/rank_facts.h"

#include <sys/stat.h>

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

/// A memfd has blocks for the pages that were touched (fstat(2) counts them in 512 bytes).
Bytes used_bytes(const SharedRegion& region) {
  constexpr Bytes kBlock = 512;
  struct stat status{};
  if (fstat(region.descriptor(), &status) != 0) return 0;
  return static_cast<Bytes>(status.st_blocks) * kBlock;
}

}  // namespace ptbench

#include "src/training/rank_facts.h"

#include <sys/stat.h>

#include <algorithm>

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

MemoryRecord memory_of(std::span<const RankFacts> ranks, Bytes arenas) {
  const auto together = [ranks](ResidentMemory RankFacts::* part) {
    Bytes own = 0;
    Bytes files = 0;
    for (const RankFacts& rank : ranks) {
      own += (rank.*part).own;
      files = std::max(files, (rank.*part).files);
    }
    return own + files;
  };
  Bytes data = 0;
  for (const RankFacts& rank : ranks) data += rank.data_bytes;
  return {.before_bytes = together(&RankFacts::before),
          .peak_bytes = together(&RankFacts::peak) + arenas,
          .predicted_bytes = together(&RankFacts::code) + data};
}

/// A memfd has blocks for the pages that were touched (fstat(2) counts them in 512 bytes).
Bytes used_bytes(const SharedRegion& region) {
  constexpr Bytes kBlock = 512;
  struct stat status{};
  if (fstat(region.descriptor(), &status) != 0) return 0;
  return static_cast<Bytes>(status.st_blocks) * kBlock;
}

}  // namespace ptbench

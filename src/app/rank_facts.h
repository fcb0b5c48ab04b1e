#pragma once

#include <span>
#include <vector>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/comm/shared_region.h"
#include "strategies/strategy.h"

namespace ptbench {

/// What a rank says of itself at the end of a run.
struct RankFacts {
  ReplicaSeconds seconds;
  bool observed = false;         ///< its seconds are known
  Bytes before_bytes = 0;        ///< resident before planning
  Bytes peak_private_bytes = 0;  ///< at most, without memory that ranks share
  Bytes predicted_bytes = 0;     ///< to be added to `before_bytes`
};

/// Those of all ranks, on rank 0; empty on the others. All ranks call it.
[[nodiscard]] std::vector<RankFacts> gather_facts(Communicator& communicator, const RankFacts& own,
                                                  Communicator::Timeout timeout);

/// What the memory that ranks share takes, once for all of them.
[[nodiscard]] Bytes used_bytes(const SharedRegion& region);

}  // namespace ptbench

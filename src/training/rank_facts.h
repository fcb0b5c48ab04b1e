#pragma once

#include <span>
#include <vector>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/comm/shared_region.h"
#include "src/device/memory.h"
#include "src/measure/record.h"
#include "strategies/strategy.h"

namespace ptbench {

/// What a rank says of itself at the end of a run.
struct RankFacts {
  ReplicaSeconds seconds;
  bool observed = false;  ///< its seconds are known
  ResidentMemory before;  ///< planning
  ResidentMemory code;    ///< what planning added: plans and generated kernels
  ResidentMemory peak;    ///< while training
  Bytes data_bytes = 0;   ///< predicted to be allocated
};

/// Of all ranks of a host: before planning, at most, and predicted to be added to the former. Pages
/// of program and libraries count once, as does `arenas`, the memory that ranks share.
[[nodiscard]] MemoryRecord memory_of(std::span<const RankFacts> ranks, Bytes arenas);

/// Those of all ranks, on rank 0; empty on the others. All ranks call it.
[[nodiscard]] std::vector<RankFacts> gather_facts(Communicator& communicator, const RankFacts& own,
                                                  Communicator::Timeout timeout);

/// What the memory that ranks share takes, once for all of them.
[[nodiscard]] Bytes used_bytes(const SharedRegion& region);

}  // namespace ptbench

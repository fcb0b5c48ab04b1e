#pragma once

#include <vector>

#include "src/base/size.h"
#include "src/comm/control_channel.h"
#include "src/device/memory.h"
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

/// The facts of all ranks, on rank 0; empty on the others. All ranks call it.
[[nodiscard]] std::vector<RankFacts> gather_facts(ControlChannel& control, const RankFacts& own,
                                                  Communicator::Timeout timeout);

}  // namespace ptbench

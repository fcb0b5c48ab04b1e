#pragma once

#include <span>
#include <vector>

#include "app/training/training_setup.h"
#include "src/base/size.h"
#include "src/comm/control_channel.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/measure/record.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

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

/// The memory that training takes: of a device that has its own, all buffers there; else what is
/// resident of this process.
[[nodiscard]] ResidentMemory memory_in_use(const Device& device);
/// The most since the process began, or since the last reset.
[[nodiscard]] ResidentMemory peak_memory(const Device& device);
void reset_peak_memory(Device& device);

/// Adds to the facts of a rank what its plan and the plan's generated code take already, and what
/// training will allocate besides. `facts.before` is known.
void predict_memory(const ProgramPlan& plan, const TrainingContext& context,
                    const TrainingShape& shape, RankFacts& facts);

/// The memory of all ranks of a host: before planning, at most, and predicted to be added to the
/// former. Pages of program and libraries count once, as does `arenas`, the memory that ranks
/// share.
[[nodiscard]] MemoryRecord memory_of(std::span<const RankFacts> ranks, Bytes arenas);

/// What the memory that ranks share takes, once for all of them.
[[nodiscard]] Bytes used_bytes(const SharedRegion& region);

}  // namespace ptbench

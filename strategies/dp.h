#pragma once

#include "kernels/spec.h"
#include "src/base/size.h"
#include "src/device/memory.h"
#include "strategies/strategy_catalog.h"
#include "workloads/lower.h"
#include "workloads/program.h"

namespace ptbench {

/// Data parallelism in one process, as torch.nn.DataParallel: replica 0 is the master, which has
/// the data, the parameters, the loss and the optimizer. Each micro-batch scatters its inputs over
/// the replicas, replicates parameters and running statistics, gathers the logits, and reduces the
/// gradients; each of these is a phase. Replicas compute at the same time, each on its own device,
/// and keep nothing: only replica 0's running statistics last.
///
/// Takes StrategyContext::group. The plans are lowered for the global batch (micro-batch ×
/// accumulation × replicas), so that sums over replicas are the mean. The first one's choices hold
/// that of `gathered_loss`.
[[nodiscard]] StrategyRow dp_strategy();

/// The loss over one micro-batch of every replica, which replica 0 computes; `graph` is lowered for
/// one replica.
[[nodiscard]] SoftmaxCrossEntropySpec gathered_loss(const LoweredGraph& graph, Size replicas);

/// What dp takes of the first replica's device beside this replica, which `plan` is of: the others,
/// where all share the host's memory, and what is gathered. Workspace of the gathered loss is left
/// out.
[[nodiscard]] Bytes dp_memory(const ProgramPlan& plan, Size replicas, const MemorySource& source,
                              bool shares_memory_with_host = true);

}  // namespace ptbench

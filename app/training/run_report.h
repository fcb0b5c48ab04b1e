#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/config/configuration.h"
#include "app/training/rank_memory.h"
#include "app/training/verification.h"
#include "kernels/backend.h"
#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/data/dataset.h"
#include "src/measure/record.h"
#include "src/measure/sampling.h"
#include "strategies/strategy.h"
#include "workloads/graph.h"

namespace ptbench {

// What a run finds out, as its record tells it.

void report_data(const DataSource& data, const RunConfig& config, RunRecord& record);
void report_workload(const Graph& graph, RunRecord& record);
/// Who asked for a comparison, or would have got one, is told that there was none.
void report_unverified(const VerificationPlan& check, VerifyMode asked, RunRecord& record);
/// What `record.verification` means for the run, which fails where it computes something else than
/// its oracle.
void report_verified(RunRecord& record);
/// The run fails: what was timed is no training, and nothing of it is kept.
void report_parted(Size rank, RunRecord& record);

/// Where steps were timed, and by what they were computed.
struct TimedOn {
  const KernelBackend& backend;
  const Clock& clock;
  Size cores = 1;  ///< that the run may use
};
/// The timed steps of `strategy`. The run fails where training diverged, and is interrupted where
/// the samples are.
void report_steps(const Samples& samples, Strategy& strategy, const RunConfig& config,
                  const TimedOn& place, RunRecord& record);

/// What every rank did and took, on this host; `own`: of the replicas of this process, which are
/// the ranks where it is alone. `shared` bytes are the memory that ranks share. Empty `ranks`:
/// nothing is known.
void report_ranks(std::span<const RankFacts> ranks, std::span<const ReplicaSeconds> own,
                  Bytes shared, RunRecord& record);
/// Of ranks that are not all on this host: `hosts` by rank.
void report_hosts(std::span<const std::string> hosts, RunRecord& record);

}  // namespace ptbench

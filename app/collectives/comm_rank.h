#pragma once

#include <string>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "app/collectives/comm_options.h"
#include "src/comm/communicator_catalog.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// Whether that communicator is to move values of GPUs.
[[nodiscard]] bool is_on_gpus(const CommOptions& options, const std::string& communicator);

/// What one rank of `ptbench comm` does; its communicators have ended when this returns. `region`:
/// null for a rank alone; `apart`: null for ranks of one host.
[[nodiscard]] std::vector<CommMeasurement> measure_with(const CommunicatorRow& row,
                                                        const CommOptions& options,
                                                        const SharedRegion* region,
                                                        const CommFollower& follower,
                                                        RanksApart* apart = nullptr);

}  // namespace ptbench

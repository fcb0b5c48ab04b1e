#pragma once

#include <string>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "app/collectives/comm_files.h"
#include "app/collectives/comm_options.h"
#include "src/base/exit_code.h"
#include "src/comm/communicator_catalog.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/topology.h"

namespace ptbench {

/// What was measured with one communicator, and a line that says where.
struct CommResult {
  std::string header;
  std::vector<CommMeasurement> rows;
};

/// "4 cores".
[[nodiscard]] std::string cores_text(const Topology& topology);

/// Says where values are moved: the cores, how far they are apart, ranks and communicator.
[[nodiscard]] std::string header_line(const Topology& topology, Size ranks,
                                      const std::string& communicator);

/// Writes and prints `result`. Throws a run error afterwards where values were wrong.
void publish(const CommResult& result, const CommOptions& options, CommFiles& files);
/// The same of what was measured before something failed, where there is anything: a second error
/// is told, and the first one counts.
void publish_beside_error(const CommResult& result, const CommOptions& options, CommFiles& files);

/// How a comm ends that was asked to before it had all its rows: publishes those that it has, and
/// says so. Throws an error of code 130 where there are none.
[[nodiscard]] ExitCode end_interrupted(const CommResult& result, const CommOptions& options,
                                       CommFiles& files);

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

#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// The processes of a group on this host: this program, one process a rank.
struct RankProcesses {
  /// The command line of each rank, after the program's name. The region's descriptor is inherited.
  std::vector<std::vector<std::string>> arguments;
  /// Without progress of any rank for about so long, or with one that is stopped, all are ended.
  std::chrono::milliseconds timeout{};
  /// Asked now and then; true asks rank 0 to end (SIGTERM), which has a minute to do so.
  std::function<bool()> interrupted;
  /// Told what rank 0 writes to standard output, as it comes; empty: the outcome's output will do.
  std::function<void(std::string_view)> heard = nullptr;
};

struct RankOutcome {
  std::string output;          ///< what rank 0 wrote to standard output
  bool interrupted = false;    ///< asked for, or by a signal to any rank
  std::optional<Error> error;  ///< of the rank that failed first; none where all ended well
};

/// Runs the ranks to their end. Once one has failed, the others learn it through the region; who
/// does not end within 3 seconds is killed. No process is left, whatever is thrown. Messages on
/// standard error are passed on, labelled "[rank 1] "; errors are not: the outcome has the one that
/// counts, which names rank, host and phase.
[[nodiscard]] RankOutcome run_ranks(const SharedRegion& region, const RankProcesses& processes);

}  // namespace ptbench

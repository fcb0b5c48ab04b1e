#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/shared_region.h"

namespace ptbench {

/// The processes of a group on this host: this program, one process a rank.
struct RankProcesses {
  /// Of each rank, after the program's name. The region's descriptor is inherited.
  std::vector<std::vector<std::string>> arguments;
  /// Without progress of any rank for so long, all are ended.
  std::chrono::milliseconds timeout{};
  /// Asked now and then; true ends all.
  std::function<bool()> interrupted;
};

struct RankOutcome {
  std::string output;  ///< what rank 0 wrote to standard output
  bool interrupted = false;
  std::optional<Error> error;  ///< of the rank that failed first; none where all ended well
};

/// Runs the ranks to their end. Once one has failed, the others learn it through the region; who
/// does not end within seconds is killed. No process is left, whatever is thrown. Messages on
/// standard error are passed on.
[[nodiscard]] RankOutcome run_ranks(const SharedRegion& region, const RankProcesses& processes);

}  // namespace ptbench

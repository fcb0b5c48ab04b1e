#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/ranks_of_hosts.h"
#include "src/comm/star_communicator.h"

namespace ptbench {

/// Ranks on several hosts, which share no memory: what they have in its place. Each has a region of
/// its own, which is kept up with what the others say of themselves (RankMirror).
struct RanksApart {
  std::vector<std::string> hosts;  ///< by rank
  std::unique_ptr<StarCommunicator> words;
  Bytes bytes_per_rank = 1;  ///< of memory that those of a host may share: SharedRegion::create
  std::optional<RanksOfHosts> shared;  ///< where a communicator has them share it
};

}  // namespace ptbench

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/base/option_table.h"
#include "src/base/size.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/topology.h"
#include "src/ranks/rank_connections.h"
#include "src/ranks/rank_source.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {

/// This process as one of several ranks that somebody else started and that train nothing.
struct OutsideGroup {
  RankPlace place;
  SharedRegion region;                ///< on several hosts, this rank's own
  std::unique_ptr<RanksApart> apart;  ///< null: all ranks are on one host
  PeerLinks links;                    ///< for PeerWatch
  CoreShare cores;
  Size local_rank = 0;
};

/// What the ranks of a group agree on.
struct GroupTerms {
  std::vector<NamedAssignment> options;  ///< which all must have been started with
  std::string communicator;              ///< that they were asked to use
  Bytes bytes_per_rank = 0;
  std::chrono::milliseconds timeout{};
};

/// Meets the other ranks of `place`. Throws what all ranks are told where they cannot be one group,
/// as meet_ranks does. Leaves no thread that takes signals.
[[nodiscard]] OutsideGroup meet_group(const RankPlace& place, const GroupTerms& terms,
                                      const Topology& topology);

}  // namespace ptbench

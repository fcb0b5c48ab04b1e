#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// Ranks on several hosts, those of this one in memory that they share.
struct RanksOfHosts {
  SharedRegion region;                     ///< of this host's ranks, in the order of `members[own]`
  std::vector<std::vector<Size>> members;  ///< by host: its ranks of the world, ascending
  std::size_t own = 0;                     ///< this host

  /// The first rank of a host, which talks to other hosts for all of them.
  [[nodiscard]] Size leader_of(std::size_t host) const { return members[host].front(); }
};

/// Whether the ranks of each host follow each other, as their parts of an array then do. `hosts`:
/// names by rank.
[[nodiscard]] bool follow_each_other(const std::vector<std::string>& hosts);

/// Has the ranks of each host, which follow each other, share memory. All ranks call it. `words`:
/// among all of them; `bytes_per_rank`: as SharedRegion::create has it. Throws a run error where
/// that takes longer than `timeout`.
[[nodiscard]] RanksOfHosts share_memory_of_hosts(const std::vector<std::string>& hosts,
                                                 Communicator& words, Bytes bytes_per_rank,
                                                 Communicator::Timeout timeout);

}  // namespace ptbench

#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/library/ranks_of_hosts.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// What a rank's communicator over an engine is made of; the region outlives it.
struct EngineSetup {
  const SharedRegion& region;
  Size rank = 0;                       ///< of the region, and of the world
  std::unique_ptr<Communicator> host;  ///< among the same ranks, for words about communicators
  std::string interface;               ///< of the network, that values travel by; empty: any
  std::string address;  ///< of this host, by which others reach it; empty: all ranks are here
  Communicator::Timeout timeout{};  ///< of waits for others that nobody else limits
  /// Where values go by way of a leader of each host; null: each rank sends its own.
  const RanksOfHosts* hosts = nullptr;
};

}  // namespace ptbench

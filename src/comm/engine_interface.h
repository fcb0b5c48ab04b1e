#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/shared_region.h"

namespace ptbench {

/// Interface "communicator" of engine modules: communicators over values in the host's memory. C++
/// objects and exceptions cross it, so executable and modules have to be of one build, as those of
/// "nccl" (cmake/PtbenchSite.cmake).
inline constexpr const char* kEngineInterface = "communicator";
inline constexpr unsigned kEngineAbi = PTBENCH_ENGINE_ABI;

/// What a rank's communicator is made of; all of it but `host` outlives the communicator.
struct EngineSetup {
  const SharedRegion& region;
  Size rank = 0;                       ///< of the region, and of the world
  std::unique_ptr<Communicator> host;  ///< among the same ranks, for words about communicators
  std::string interface;               ///< of the network, that values travel by; empty: any
  Communicator::Timeout timeout{};     ///< of waits for others that nobody else limits
};

/// What the interface's pointer points to. Objects that come out of it may live until the process
/// ends, as the module does.
struct EngineInterface {
  /// All ranks call it. Throws Error.
  std::unique_ptr<Communicator> (*make)(EngineSetup setup);
};

}  // namespace ptbench

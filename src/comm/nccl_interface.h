#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/device.h"

namespace ptbench {

/// Interface "nccl" of engine modules: communicators over the memory of CUDA devices. C++ objects
/// and exceptions cross it, so executable and modules have to be of one build: the version is a
/// digest of the compiler and of the headers that say how these objects lie in memory
/// (cmake/PtbenchSite.cmake).
inline constexpr const char* kNcclInterface = "nccl";
inline constexpr unsigned kNcclAbi = PTBENCH_NCCL_ABI;

/// As NCCL counts them: 22809 is 2.28.9.
struct NcclVersions {
  int built = 0;  ///< of the headers that the module was compiled with
  int found = 0;  ///< of the library that it has now; 0: it does not tell
};

/// What a rank's communicator is made of; all of it but `host` outlives the communicator.
struct NcclSetup {
  Device& device;  ///< of the engine module "cuda", and the rank's own
  const SharedRegion& region;
  Size rank = 0;                       ///< of the region, and of the world
  std::unique_ptr<Communicator> host;  ///< among the same ranks, for words about communicators
  std::string interface;               ///< of the network, that NCCL is to talk by; empty: any
  std::string address;  ///< of this host, by which others reach it; empty: all ranks are here
  Communicator::Timeout timeout{};  ///< of waits for others that nobody else limits
};

/// What the interface's pointer points to. Objects that come out of it may live until the process
/// ends, as the module does.
struct NcclInterface {
  NcclVersions (*versions)();
  /// All ranks call it. Throws Error.
  std::unique_ptr<Communicator> (*make)(NcclSetup setup);
};

}  // namespace ptbench

#pragma once

#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// One core that this process may use.
struct Core {
  int cpu = 0;      ///< operating-system number of its first hardware thread, for pinning
  int package = 0;  ///< socket
  int numa_node = 0;
  int l3 = -1;  ///< which last-level cache; -1 where unknown
};

/// The machine as this process may use it: its affinity mask counts, siblings of one core count
/// once.
struct Topology {
  std::string cpu_model;
  std::vector<Core> cores;  ///< neighbours in caches lie next to each other
  Bytes memory_bytes = 0;
  Bytes l2_bytes = 0;
  Bytes l3_bytes = 0;
  int hardware_threads = 0;
};

/// Asks hwloc once.
[[nodiscard]] Topology discover_topology();

/// Version of the hwloc that ptbench was compiled with, "2.9.0".
[[nodiscard]] std::string hwloc_version();

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <vector>

#include "src/device/topology.h"

namespace ptbench::testing {

/// CPUs for the `count` members of a team, reused where there are too few.
inline std::vector<int> some_cpus(int count) {
  const Topology topology = discover_topology();
  std::vector<int> cpus;
  for (int i = 0; i < count; ++i)
    cpus.push_back(topology.cores[static_cast<std::size_t>(i) % topology.cores.size()].cpu);
  return cpus;
}

}  // namespace ptbench::testing

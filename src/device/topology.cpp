#include "src/device/topology.h"

#include <hwloc.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "src/base/error.h"

namespace ptbench {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, DestroyTopology>;

TopologyHandle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw capability_error("hwloc cannot start", "check the installation of libhwloc");
  TopologyHandle handle(raw);
  if (hwloc_topology_load(raw) != 0)
    throw capability_error("hwloc cannot read this machine's topology",
                           "check that /sys is mounted");
  return handle;
}

/// Falls back to /proc where hwloc has no name (some virtual machines).
std::string cpu_model(hwloc_topology_t topology) {
  for (hwloc_obj_t package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, nullptr);
       package != nullptr;
       package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package))
    if (const char* name = hwloc_obj_get_info_by_name(package, "CPUModel")) return name;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

int ancestor_index(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type) {
  const hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(topology, type, object);
  return ancestor == nullptr ? -1 : static_cast<int>(ancestor->logical_index);
}

int numa_node_of(hwloc_obj_t object) {
  const int node = hwloc_bitmap_first(object->nodeset);
  return node < 0 ? 0 : node;
}

Bytes cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_next_obj_by_type(topology, type, nullptr);
  return cache == nullptr ? 0 : cache->attr->cache.size;
}

/// Not hwloc's: it counts at boot, and virtual machines grow later.
Bytes memory_of_machine() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? Bytes{info.totalram} * info.mem_unit : 0;
}

/// First hardware thread of `core` that this process may run on, or -1.
int allowed_cpu(hwloc_obj_t core, const cpu_set_t& allowed) {
  for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0;
       cpu = hwloc_bitmap_next(core->cpuset, cpu))
    if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) return cpu;
  return -1;
}

}  // namespace

Topology discover_topology() {
  const TopologyHandle handle = load();
  hwloc_topology_t raw = handle.get();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    throw capability_error("cannot read this process's CPU affinity");

  Topology topology;
  topology.cpu_model = cpu_model(raw);
  topology.memory_bytes = memory_of_machine();
  topology.l2_bytes = cache_bytes(raw, HWLOC_OBJ_L2CACHE);
  topology.l3_bytes = cache_bytes(raw, HWLOC_OBJ_L3CACHE);
  topology.hardware_threads = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU);
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core)) {
    const int cpu = allowed_cpu(core, allowed);
    if (cpu < 0) continue;
    topology.cores.push_back({.cpu = cpu,
                              .package = ancestor_index(raw, core, HWLOC_OBJ_PACKAGE),
                              .numa_node = numa_node_of(core),
                              .l3 = ancestor_index(raw, core, HWLOC_OBJ_L3CACHE)});
  }
  // Machines whose cores hwloc cannot see: every allowed CPU is a core.
  if (topology.cores.empty())
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) topology.cores.push_back({.cpu = cpu});
  return topology;
}

// The library itself tells only the version of its interface.
std::string hwloc_version() { return HWLOC_VERSION; }

}  // namespace ptbench

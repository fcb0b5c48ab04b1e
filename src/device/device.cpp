#include "src/device/device.h"

#include "src/base/error.h"

namespace ptbench {
namespace {

std::vector<int> cpus_of(const Topology& topology, int threads, int first_core) {
  ensure(threads >= 1 && !topology.cores.empty(), "a CPU device has cores and threads");
  std::vector<int> cpus;
  cpus.reserve(static_cast<std::size_t>(threads));
  for (int thread = 0; thread < threads; ++thread) {
    const auto core = static_cast<std::size_t>(first_core + thread) % topology.cores.size();
    cpus.push_back(topology.cores[core].cpu);
  }
  return cpus;
}

}  // namespace

CpuDevice::CpuDevice(Topology topology, int threads, int first_core)
    : topology_(std::move(topology)), team_(cpus_of(topology_, threads, first_core)) {}

}  // namespace ptbench

#include "src/device/cpu_device.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/device/cpu_load.h"
#include "src/device/frequency.h"

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

double slowest_frequency(Team& team) {
  std::vector<double> frequencies(static_cast<std::size_t>(team.size()));
  team.run(
      [&](int member) { frequencies[static_cast<std::size_t>(member)] = effective_frequency(); });
  return *std::ranges::min_element(frequencies);
}

}  // namespace

CpuDevice::CpuDevice(Topology topology, int threads, int first_core)
    : topology_(std::move(topology)), team_(cpus_of(topology_, threads, first_core)) {}

CpuDevice::CpuDevice(Topology topology, std::vector<int> cpus)
    : topology_(std::move(topology)), team_(std::move(cpus)) {}

/// The frequency first: cores recover from wide units in under 1 ms.
DeviceConditions CpuDevice::look() {
  DeviceConditions conditions{.frequency_hertz = slowest_frequency(team_)};
  if (const auto latency = worst_core_latency(team_)) {
    conditions.has_latency = true;
    conditions.latency = *latency;
  }
  conditions.cpu_seconds = process_cpu_seconds();
  return conditions;
}

}  // namespace ptbench

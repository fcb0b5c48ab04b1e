#include "src/measure/machine_probe.h"

#include <algorithm>

#include "src/device/frequency.h"

namespace ptbench {
namespace {

std::optional<double> seconds_of(const std::optional<CoreLatency>& latency) {
  return latency ? std::optional(latency->seconds) : std::nullopt;
}

bool is_disturbed(const std::optional<CoreLatency>& latency) {
  return latency && latency->disturbed;
}

}  // namespace

MachineProbe::MachineProbe(Team& team)
    : team_(team), load_(team.cpus()), frequencies_(static_cast<std::size_t>(team.size())) {}

double MachineProbe::frequency() {
  team_.run([this](int member) {
    frequencies_[static_cast<std::size_t>(member)] = effective_frequency();
  });
  return *std::ranges::min_element(frequencies_);
}

void MachineProbe::begin() {
  latency_begin_ = worst_core_latency(team_);
  frequency_begin_ = frequency();
  load_.restart();
}

SliceConditions MachineProbe::end() {
  const std::optional<LoadShares> load = load_.shares();
  const double frequency_end = frequency();  // first: cores recover from wide units in under 1 ms
  const std::optional<CoreLatency> latency_end = worst_core_latency(team_);
  SliceConditions conditions;
  conditions.core_latency_begin = seconds_of(latency_begin_);
  conditions.core_latency_end = seconds_of(latency_end);
  if (load) {
    conditions.foreign_cpu_fraction = load->foreign_fraction;
    conditions.steal_fraction = load->steal_fraction;
  }
  conditions.frequency_hertz = std::min(frequency_begin_, frequency_end);
  conditions.cores_disturbed = is_disturbed(latency_begin_) || is_disturbed(latency_end);
  return conditions;
}

}  // namespace ptbench

#include "src/measure/machine_probe.h"

#include <algorithm>

#include "src/device/frequency.h"

namespace ptbench {
namespace {

double slowest_frequency(Team& team) {
  std::vector<double> frequencies(static_cast<std::size_t>(team.size()));
  team.run(
      [&](int member) { frequencies[static_cast<std::size_t>(member)] = effective_frequency(); });
  return *std::ranges::min_element(frequencies);
}

std::vector<int> all_cpus(const Team& team, const ProbePeers* peers) {
  std::vector<int> cpus = team.cpus();
  if (peers == nullptr) return cpus;
  const std::vector<int> others = peers->cpus();
  cpus.insert(cpus.end(), others.begin(), others.end());
  return cpus;
}

void add(const TeamConditions& part, TeamConditions& all) {
  all.has_latency |= part.has_latency;
  all.latency.seconds = std::max(all.latency.seconds, part.latency.seconds);
  all.latency.disturbed |= part.latency.disturbed;
  all.frequency_hertz = std::min(all.frequency_hertz, part.frequency_hertz);
  all.cpu_seconds += part.cpu_seconds;
}

std::optional<double> latency_of(const TeamConditions& conditions) {
  return conditions.has_latency ? std::optional(conditions.latency.seconds) : std::nullopt;
}

}  // namespace

/// The frequency first: cores recover from wide units in under 1 ms.
TeamConditions look_at(Team& team) {
  TeamConditions conditions{.frequency_hertz = slowest_frequency(team)};
  if (const auto latency = worst_core_latency(team)) {
    conditions.has_latency = true;
    conditions.latency = *latency;
  }
  conditions.cpu_seconds = process_cpu_seconds();
  return conditions;
}

MachineProbe::MachineProbe(Team& team, ProbePeers* peers)
    : team_(team), peers_(peers), load_(all_cpus(team, peers)) {}

TeamConditions MachineProbe::look() {
  TeamConditions all = look_at(team_);
  if (peers_ == nullptr) return all;
  for (const TeamConditions& part : peers_->look()) add(part, all);
  return all;
}

void MachineProbe::begin() {
  begin_ = look();
  times_begin_ = load_.since_boot();
  if (times_begin_) times_begin_->own = begin_.cpu_seconds;
}

SliceConditions MachineProbe::end() {
  const TeamConditions end = look();
  std::optional<CpuTimes> times_end = load_.since_boot();
  if (times_end) times_end->own = end.cpu_seconds;
  SliceConditions conditions;
  conditions.core_latency_begin = latency_of(begin_);
  conditions.core_latency_end = latency_of(end);
  if (times_begin_ && times_end)
    if (const auto load = gathered_.add(*times_begin_, *times_end)) {
      conditions.foreign_cpu_fraction = load->foreign_fraction;
      conditions.steal_fraction = load->steal_fraction;
    }
  conditions.frequency_hertz = std::min(begin_.frequency_hertz, end.frequency_hertz);
  conditions.cores_disturbed = begin_.latency.disturbed || end.latency.disturbed;
  return conditions;
}

}  // namespace ptbench

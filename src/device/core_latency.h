#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ptbench {

/// Near: cores that answer through a shared cache; far: they do not, whatever the machine says of
/// itself (hypervisors move virtual cores).
enum class Placement { near, far };
[[nodiscard]] std::string_view name_of(Placement placement);

/// One-way latency between two CPUs in seconds: a flag bounced between two pinned threads, the
/// least of `rounds` times the mean of `round_trips`. The caller's affinity is put back.
[[nodiscard]] double core_latency(int cpu_a, int cpu_b, int rounds = 3, int round_trips = 300);

/// The worst latency between all pairs of `cpus`; empty for fewer than two.
[[nodiscard]] std::optional<double> worst_core_latency(const std::vector<int>& cpus);

/// Classes split at a two-fold gap: near up to 80 ns.
[[nodiscard]] Placement placement_of(double latency_seconds);

}  // namespace ptbench

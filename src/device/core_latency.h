#pragma once

#include <optional>
#include <string_view>

#include "src/device/team.h"

namespace ptbench {

/// Near: cores that answer through a shared cache; far: they do not, whatever the machine says of
/// itself (hypervisors move virtual cores).
enum class CorePlacement { near, far };
[[nodiscard]] std::string_view name_of(CorePlacement placement);

/// How long cores take to hear from each other.
struct CoreLatency {
  double seconds = 0;      ///< one way, between the two that took longest
  bool disturbed = false;  ///< somebody else had a core, so that `seconds` tells of no placement
};

/// Bounces a flag between neighbours in the ring of the team's members, one pair after the other:
/// per pair the least of `rounds` times the mean of `round_trips`, of the pairs the worst. Members
/// that share a CPU count once; empty where all do. Called by the team's maker. A pair that has not
/// finished a round in 20 ms is disturbed and ends the probe.
[[nodiscard]] std::optional<CoreLatency> worst_core_latency(Team& team, int rounds = 3,
                                                            int round_trips = 300);

/// Classes split at a two-fold gap: near up to 80 ns.
[[nodiscard]] CorePlacement placement_of(double latency_seconds);

}  // namespace ptbench

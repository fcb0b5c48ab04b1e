#pragma once

#include <atomic>
#include <cstdint>
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

/// Bounces a flag between neighbours in a ring of threads, one pair after the other: per pair the
/// least of `rounds` times the mean of `round_trips`, of the pairs the worst. For one measurement;
/// may lie in memory that processes share. A pair that has not finished a round in 20 ms is
/// disturbed and ends it.
class LatencyRing {
 public:
  static constexpr int kRounds = 3;
  static constexpr int kRoundTrips = 300;

  /// `positions`: at least 2.
  explicit LatencyRing(int positions, int rounds = kRounds, int round_trips = kRoundTrips);
  /// Called once by a thread for each position, at about the same time.
  void take_part(int position);
  /// After all have taken part.
  [[nodiscard]] CoreLatency worst() const { return worst_; }

 private:
  void ask(int pair);
  void answer(int pair);
  [[nodiscard]] CoreLatency bounce(int pair);
  [[nodiscard]] bool await_turn(int pair) const;
  [[nodiscard]] std::uint32_t first_trip(int pair) const;

  alignas(128) std::atomic<std::uint32_t> flag_{0};
  alignas(128) std::atomic<int> turn_{0};  ///< the pair that bounces; pairs_: all is over
  CoreLatency worst_;                      ///< written by the asker whose turn it is
  int pairs_;
  int positions_;
  int rounds_;
  std::uint32_t trips_;
};

/// The latency ring of the team's members. Members that share a CPU count once; empty where
/// all do. Called by the team's maker.
[[nodiscard]] std::optional<CoreLatency> worst_core_latency(
    Team& team, int rounds = LatencyRing::kRounds, int round_trips = LatencyRing::kRoundTrips);

/// Classes split at a two-fold gap: near up to 80 ns.
[[nodiscard]] CorePlacement placement_of(double latency_seconds);

}  // namespace ptbench

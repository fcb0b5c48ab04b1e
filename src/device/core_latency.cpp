#include "src/device/core_latency.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace ptbench {
namespace {

using Time = std::chrono::steady_clock;

constexpr double kNearLimitSeconds = 80e-9;  // near was seen at 24-39 ns, far at 150-190 ns
constexpr double kFarthestSeconds = 2e-6;    // a preempted core answers in ms, another socket's in
                                             // well under 1 µs
constexpr auto kPatience = std::chrono::milliseconds(20);  // an undisturbed pair needs under 1 ms
constexpr auto kLongest = std::chrono::seconds(1);         // of a pair, however late its asker is
constexpr std::uint32_t kSpinsBeforeYield = 4096;

double seconds_since(Time::time_point start) {
  return std::chrono::duration<double>(Time::now() - start).count();
}

/// Odd ones ask, even ones answer; unique in the whole ring.
std::uint32_t question(std::uint32_t trip) { return 2 * trip + 1; }

/// False after `limit`.
bool await_answer(const std::atomic<std::uint32_t>& flag, std::uint32_t trip,
                  Time::time_point limit) {
  for (std::uint32_t spin = 1; flag.load(std::memory_order_acquire) != question(trip) + 1; ++spin)
    if (spin % kSpinsBeforeYield == 0) {
      if (Time::now() >= limit) return false;
      std::this_thread::yield();
    }
  return true;
}

/// The first member on each CPU: two that share one would measure the scheduler.
std::vector<int> one_member_per_cpu(const std::vector<int>& cpus) {
  std::vector<int> members;
  members.reserve(cpus.size());
  for (auto cpu = cpus.begin(); cpu != cpus.end(); ++cpu)
    if (std::find(cpus.begin(), cpu, *cpu) == cpu)
      members.push_back(static_cast<int>(cpu - cpus.begin()));
  return members;
}

}  // namespace

std::string_view name_of(CorePlacement placement) {
  return placement == CorePlacement::near ? "near" : "far";
}

CorePlacement placement_of(double latency_seconds) {
  return latency_seconds <= kNearLimitSeconds ? CorePlacement::near : CorePlacement::far;
}

LatencyRing::LatencyRing(int positions, int rounds, int round_trips)
    : pairs_(positions == 2 ? 1 : positions),
      positions_(positions),
      rounds_(rounds),
      trips_(static_cast<std::uint32_t>(round_trips)) {}

/// Position p asks p + 1, once it has answered p - 1.
void LatencyRing::take_part(int position) {
  if (position == 0) ask(0);
  answer((position + positions_ - 1) % positions_);
  if (position != 0) ask(position);
}

void LatencyRing::ask(int pair) {
  if (!await_turn(pair)) return;
  const CoreLatency latency = bounce(pair);
  worst_.seconds = std::max(worst_.seconds, latency.seconds);
  worst_.disturbed |= latency.disturbed;
  turn_.store(latency.disturbed ? pairs_ : pair + 1, std::memory_order_release);
}

void LatencyRing::answer(int pair) {
  if (!await_turn(pair)) return;
  const Time::time_point limit = Time::now() + kLongest;
  const std::uint32_t first = first_trip(pair);
  for (std::uint32_t trip = first; trip < first_trip(pair + 1); ++trip) {
    for (std::uint32_t spin = 1; flag_.load(std::memory_order_acquire) != question(trip); ++spin) {
      if (turn_.load(std::memory_order_acquire) != pair) return;  // the asker gave up
      if (spin % kSpinsBeforeYield != 0) continue;
      if (Time::now() >= limit) return;  // the asker has died
      std::this_thread::yield();
    }
    flag_.store(question(trip) + 1, std::memory_order_release);
  }
}

CoreLatency LatencyRing::bounce(int pair) {
  const Time::time_point begin = Time::now();
  double best = std::numeric_limits<double>::infinity();
  std::uint32_t trip = first_trip(pair);
  for (int round = 0; round <= rounds_; ++round) {
    const Time::time_point start = Time::now();
    for (std::uint32_t i = 0; i < trips_; ++i, ++trip) {
      flag_.store(question(trip), std::memory_order_release);
      if (await_answer(flag_, trip, begin + kPatience)) continue;
      if (best <= kFarthestSeconds) return {.seconds = best};
      return {.seconds = seconds_since(begin) / (2.0 * (trip - first_trip(pair) + 1)),
              .disturbed = true};
    }
    if (round > 0) best = std::min(best, seconds_since(start) / trips_ / 2);  // 0 warms up
  }
  return {.seconds = best, .disturbed = best > kFarthestSeconds};
}

/// False where there is no such pair, or its turn is over.
bool LatencyRing::await_turn(int pair) const {
  if (pair >= pairs_) return false;
  const Time::time_point limit = Time::now() + pairs_ * kLongest;
  int turn = turn_.load(std::memory_order_acquire);
  for (std::uint32_t spin = 1; turn < pair; ++spin) {
    if (spin % kSpinsBeforeYield == 0) {
      if (Time::now() >= limit) return false;
      std::this_thread::yield();
    }
    turn = turn_.load(std::memory_order_acquire);
  }
  return turn == pair;
}

std::uint32_t LatencyRing::first_trip(int pair) const {
  return static_cast<std::uint32_t>(pair) * trips_ * static_cast<std::uint32_t>(rounds_ + 1);
}

std::optional<CoreLatency> worst_core_latency(Team& team, int rounds, int round_trips) {
  const std::vector<int> members = one_member_per_cpu(team.cpus());
  if (members.size() < 2) return std::nullopt;
  LatencyRing ring(static_cast<int>(members.size()), rounds, round_trips);
  team.run([&](int member) {
    const auto position = std::ranges::find(members, member);
    if (position != members.end()) ring.take_part(static_cast<int>(position - members.begin()));
  });
  return ring.worst();
}

}  // namespace ptbench

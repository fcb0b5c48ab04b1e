#include "src/device/core_latency.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include "src/device/affinity.h"

namespace ptbench {
namespace {

constexpr double kNearLimitSeconds = 80e-9;  // near was seen at 24-39 ns, far at 150-190 ns

/// Odd values ask, even values answer. Yields now and then: both ends may share a core.
void wait_for(const std::atomic<std::uint32_t>& flag, std::uint32_t value) {
  for (std::uint32_t spin = 1; flag.load(std::memory_order_acquire) != value; ++spin)
    if (spin % 4096 == 0) std::this_thread::yield();
}

}  // namespace

std::string_view name_of(Placement placement) {
  return placement == Placement::near ? "near" : "far";
}

Placement placement_of(double latency_seconds) {
  return latency_seconds <= kNearLimitSeconds ? Placement::near : Placement::far;
}

double core_latency(int cpu_a, int cpu_b, int rounds, int round_trips) {
  const AffinityGuard guard;
  alignas(128) std::atomic<std::uint32_t> flag{0};
  const auto trips = static_cast<std::uint32_t>(round_trips);
  const std::uint32_t total = trips * (static_cast<std::uint32_t>(rounds) + 1);
  std::thread answerer([&] {
    (void)pin_this_thread(cpu_b);
    for (std::uint32_t trip = 0; trip < total; ++trip) {
      wait_for(flag, 2 * trip + 1);
      flag.store(2 * trip + 2, std::memory_order_release);
    }
  });
  (void)pin_this_thread(cpu_a);
  double best = std::numeric_limits<double>::infinity();
  std::uint32_t trip = 0;
  for (int round = 0; round <= rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < trips; ++i, ++trip) {
      flag.store(2 * trip + 1, std::memory_order_release);
      wait_for(flag, 2 * trip + 2);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (round > 0) best = std::min(best, took.count() / round_trips / 2);  // round 0 warms up
  }
  answerer.join();
  return best;
}

std::optional<double> worst_core_latency(const std::vector<int>& cpus) {
  std::optional<double> worst;
  for (std::size_t a = 0; a < cpus.size(); ++a)
    for (std::size_t b = a + 1; b < cpus.size(); ++b)
      if (cpus[a] != cpus[b]) worst = std::max(worst.value_or(0.0), core_latency(cpus[a], cpus[b]));
  return worst;
}

}  // namespace ptbench

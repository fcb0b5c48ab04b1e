#include "app/training/rank_probe.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "src/comm/shm/shared_arena.h"

namespace ptbench {

RankProbe::RankProbe(const Ranks& all, ControlChannel& control, Conductor& conductor,
                     Device& device, Communicator::Timeout timeout)
    : control_(control), conductor_(conductor), device_(device), timeout_(timeout) {
  const auto threads = device.cpus().size();
  const auto ranks = static_cast<std::size_t>(control.world_size());
  cpus_.resize(threads * ranks);
  if (threads == 0) return;  // a device that computes on no CPU: there is no ring
  control.exchange(std::as_bytes(device.cpus()), std::as_writable_bytes(std::span(cpus_)), timeout);
  if (all.apart != nullptr) {
    keep_cpus_beside_rank_zero(*all.apart, threads);
    return;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = cpus_.begin() + static_cast<std::ptrdiff_t>(rank * threads);
    if (std::find(cpus_.begin(), first, *first) == first) ring_.push_back(static_cast<Size>(rank));
  }
  share_ring(all.region);
}

void RankProbe::keep_cpus_beside_rank_zero(const RanksApart& apart, std::size_t threads) {
  std::vector<int> kept;
  for (std::size_t at = 0; at < cpus_.size(); ++at)
    if (apart.hosts[at / threads] == apart.hosts.front()) kept.push_back(cpus_[at]);
  cpus_ = std::move(kept);
}

void RankProbe::share_ring(const SharedRegion& region) {
  constexpr std::uint64_t kAlignment = alignof(LatencyRing);
  SharedArena arena(region, control_.rank());
  ring_memory_ = arena.allocate(sizeof(LatencyRing) + kAlignment, "latency ring");
  std::uint64_t offset =
      (region.offset_of(ring_memory_.data()) + kAlignment - 1) / kAlignment * kAlignment;
  control_.broadcast(std::as_writable_bytes(std::span(&offset, 1)), 0, timeout_);
  // The bytes are a ring for every rank once rank 0 has made one there.
  latency_ring_ = reinterpret_cast<LatencyRing*>(region.at(offset));
}

void RankProbe::measure_latency() {
  if (ring_.size() < 2) return;
  if (control_.rank() == 0) new (latency_ring_) LatencyRing(static_cast<int>(ring_.size()));
  control_.barrier(timeout_);
  const auto own = std::ranges::find(ring_, control_.rank());
  if (own != ring_.end()) latency_ring_->take_part(static_cast<int>(own - ring_.begin()));
  control_.barrier(timeout_);
}

std::vector<DeviceConditions> RankProbe::look() {
  conductor_.look();
  measure_latency();
  std::vector<DeviceConditions> all(static_cast<std::size_t>(control_.world_size()));
  const DeviceConditions between;
  control_.gather(std::as_bytes(std::span(&between, 1)), std::as_writable_bytes(std::span(all)), 0,
                  timeout_);
  if (ring_.size() < 2) return {all.begin() + 1, all.end()};
  all.front() = {.has_latency = true, .latency = latency_ring_->worst()};
  return all;
}

void RankProbe::contribute() {
  const DeviceConditions own = device_.look();
  measure_latency();
  control_.gather(std::as_bytes(std::span(&own, 1)), {}, 0, timeout_);
}

}  // namespace ptbench

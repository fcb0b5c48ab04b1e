#include "src/training/rank_probe.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>

#include "src/comm/exchange.h"

namespace ptbench {

RankProbe::RankProbe(const SharedRegion& region, Communicator& communicator, Conductor& conductor,
                     Team& team, Communicator::Timeout timeout)
    : communicator_(communicator), conductor_(conductor), team_(team), timeout_(timeout) {
  const auto threads = static_cast<std::size_t>(team.size());
  const auto ranks = static_cast<std::size_t>(communicator.world_size());
  cpus_.resize(threads * ranks);
  exchange(communicator, std::as_bytes(std::span(team.cpus())),
           std::as_writable_bytes(std::span(cpus_)), timeout);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = cpus_.begin() + static_cast<std::ptrdiff_t>(rank * threads);
    if (std::find(cpus_.begin(), first, *first) == first) ring_.push_back(static_cast<Size>(rank));
  }
  share_ring(region);
}

void RankProbe::share_ring(const SharedRegion& region) {
  constexpr std::uint64_t kAlignment = alignof(LatencyRing);
  ring_memory_ = communicator_.memory().allocate(sizeof(LatencyRing) + kAlignment, "latency ring");
  std::uint64_t offset =
      (region.offset_of(ring_memory_.data()) + kAlignment - 1) / kAlignment * kAlignment;
  wait(communicator_.start_broadcast(std::as_writable_bytes(std::span(&offset, 1)), 0));
  // The bytes are a ring for every rank once rank 0 has made one there.
  latency_ring_ = reinterpret_cast<LatencyRing*>(region.at(offset));
}

void RankProbe::measure_latency() {
  if (ring_.size() < 2) return;
  if (communicator_.rank() == 0) new (latency_ring_) LatencyRing(static_cast<int>(ring_.size()));
  wait(communicator_.start_barrier());
  const auto own = std::ranges::find(ring_, communicator_.rank());
  if (own != ring_.end()) latency_ring_->take_part(static_cast<int>(own - ring_.begin()));
  wait(communicator_.start_barrier());
}

std::vector<TeamConditions> RankProbe::look() {
  conductor_.look();
  measure_latency();
  std::vector<TeamConditions> all(static_cast<std::size_t>(communicator_.world_size()));
  const TeamConditions between;
  wait(communicator_.start_gather(std::as_bytes(std::span(&between, 1)),
                                  std::as_writable_bytes(std::span(all)), 0));
  if (ring_.size() < 2) return {all.begin() + 1, all.end()};
  all.front() = {.has_latency = true,
                 .latency = latency_ring_->worst(),
                 .frequency_hertz = all.back().frequency_hertz};
  return all;
}

void RankProbe::contribute() {
  const TeamConditions own = look_at(team_);
  measure_latency();
  wait(communicator_.start_gather(std::as_bytes(std::span(&own, 1)), {}, 0));
}

}  // namespace ptbench

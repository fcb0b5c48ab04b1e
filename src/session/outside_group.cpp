#include "src/session/outside_group.h"

#include <utility>

#include "src/session/outside_ranks.h"

namespace ptbench {
namespace {

OutsideGroup lead_group(const RankPlace& place, const RankCard& card, const MeetingPoint& point,
                        Bytes bytes_per_rank) {
  RankGathering gathering(card, point);
  gathering.gather();
  const CoreShare cores = gathering.cores();
  try {
    SharedRegion region = SharedRegion::create(place.world_size, bytes_per_rank, cores.cores);
    PeerLinks links = gathering.admit(region);
    return {.place = place, .region = std::move(region), .links = std::move(links), .cores = cores};
  } catch (const Error& error) {
    gathering.refuse(error);
    throw;
  }
}

}  // namespace

OutsideGroup meet_group(const RankPlace& place, const GroupTerms& terms, const Topology& topology) {
  if (place.several_hosts) throw several_hosts_error(place);
  const RankCard card = card_of(place, topology, terms.options);
  const MeetingPoint point{
      .job = place.job, .place = place.place, .timeout = terms.timeout, .address = place.address};
  if (place.rank == 0) return lead_group(place, card, point, terms.bytes_per_rank);
  Admission admission = join_ranks(card, point);
  return {.place = place,
          .region = std::move(admission.region),
          .links = std::move(admission.links),
          .cores = admission.cores};
}

}  // namespace ptbench

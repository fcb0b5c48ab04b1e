#include "app/session/outside_group.h"

#include <iterator>
#include <utility>

#include "app/session/outside_ranks.h"

namespace ptbench {
namespace {

OutsideGroup group_in(const RankPlace& place, SharedRegion region, PeerLinks links,
                      const Welcome& welcome) {
  return {.place = place,
          .region = std::move(region),
          .apart = {},
          .links = std::move(links),
          .cores = welcome.cores,
          .local_rank = welcome.local_ranks[static_cast<std::size_t>(place.rank)]};
}

SharedRegion create_region(const Welcome& welcome, Bytes bytes_per_rank) {
  return SharedRegion::create(std::ssize(welcome.hosts),
                              bytes_per_rank_of(welcome.hosts, bytes_per_rank),
                              welcome.cores.cores);
}

OutsideGroup lead_group(const RankPlace& place, const RankCard& card, const MeetingPoint& point,
                        Bytes bytes_per_rank) {
  RankGathering gathering(card, point);
  gathering.gather();
  const Welcome welcome = gathering.welcome();
  try {
    SharedRegion region = create_region(welcome, bytes_per_rank);
    const bool apart = are_apart(welcome.hosts);
    const OpenDoor open = apart ? open_door(point) : OpenDoor();
    PeerLinks links = gathering.admit(region, open.door);
    OutsideGroup group = group_in(place, std::move(region), std::move(links), welcome);
    if (apart) group.apart = connect_to_ranks(open, group.region, welcome, point, group.links);
    if (apart) group.apart->bytes_per_rank = bytes_per_rank;
    return group;
  } catch (const Error& error) {
    gathering.refuse(error);
    throw;
  }
}

OutsideGroup join_group(const RankPlace& place, const RankCard& card, const MeetingPoint& point,
                        Bytes bytes_per_rank) {
  Admission admission = join_ranks(card, point);
  const Welcome& welcome = admission.welcome;
  const bool apart = !admission.region;
  SharedRegion region = apart ? create_region(welcome, bytes_per_rank) : *admission.region;
  OutsideGroup group = group_in(place, std::move(region), std::move(admission.links), welcome);
  if (apart) group.apart = connect_to_rank_zero(group.region, welcome, point, group.links);
  if (apart) group.apart->bytes_per_rank = bytes_per_rank;
  return group;
}

}  // namespace

OutsideGroup meet_group(const RankPlace& place, const GroupTerms& terms, const Topology& topology) {
  const RankCard card = card_of(place, topology, terms.options);
  const MeetingPoint point = meeting_point(place, terms.communicator, terms.timeout);
  return place.rank == 0 ? lead_group(place, card, point, terms.bytes_per_rank)
                         : join_group(place, card, point, terms.bytes_per_rank);
}

}  // namespace ptbench

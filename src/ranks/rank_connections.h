#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/comm/ranks_apart.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/descriptor.h"
#include "src/ranks/rank_card.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {

/// Whether these are several hosts.
[[nodiscard]] bool are_apart(const std::vector<std::string>& hosts);

/// Where rank 0 waits for the others' connections.
struct OpenDoor {
  Descriptor listener;
  Door door;
};
/// At the address of the meeting, at a port that is free. Throws a run error where none is.
[[nodiscard]] OpenDoor open_door(const MeetingPoint& point);
/// Rank 0's side, once all were told of the door, by `links`: waits for all. Run errors name who
/// does not come, or ends; the others are told by their links.
[[nodiscard]] std::unique_ptr<RanksApart> connect_to_ranks(const OpenDoor& open,
                                                           const SharedRegion& region,
                                                           const Welcome& welcome,
                                                           const MeetingPoint& point,
                                                           const PeerLinks& links);
/// Another rank's side: returns once all are connected. Throws what rank 0 says, or a run error
/// where it ends.
[[nodiscard]] std::unique_ptr<RanksApart> connect_to_rank_zero(const SharedRegion& region,
                                                               const Welcome& welcome,
                                                               const MeetingPoint& point,
                                                               const PeerLinks& links);

}  // namespace ptbench

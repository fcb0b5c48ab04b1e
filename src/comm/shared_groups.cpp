// Groups of ranks that SharedMemoryCommunicator is split into, and the channels that carry them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>

#include "src/base/error.h"
#include "src/comm/exchange.h"
#include "src/comm/shared_memory.h"

namespace ptbench {
namespace {

/// A set of the channels of groups, by their places among these.
using ChannelSet = std::uint32_t;
static_assert(shared::kMostGroups <= 32);

/// What a rank says of itself where it is split.
struct Card {
  Size colour = 0;
  Size key = 0;
  Size place = 0;                 ///< its rank in what is split
  Size rank = 0;                  ///< of the region
  std::uint64_t last_number = 0;  ///< of any operation of its groups that have ended
  std::uint64_t free = 0;         ///< ChannelSet
};

ChannelSet free_channels(const shared::RankBlock& block) {
  ChannelSet free = 0;
  for (std::size_t group = 0; group < shared::kMostGroups; ++group)
    if (block.members.at(group).load(std::memory_order_seq_cst) == 0) free |= 1U << group;
  return free;
}

/// In the order of the group.
std::vector<Card> members_of(const std::vector<Card>& all, Size colour) {
  std::vector<Card> members;
  std::ranges::copy_if(all, std::back_inserter(members),
                       [colour](const Card& card) { return card.colour == colour; });
  std::ranges::sort(members, {}, [](const Card& card) { return std::pair(card.key, card.place); });
  return members;
}

ChannelSet common_channels(const std::vector<Card>& members) {
  std::uint64_t common = ~std::uint64_t{0};
  for (const Card& member : members) common &= member.free;
  return static_cast<ChannelSet>(common);
}

}  // namespace

std::unique_ptr<SharedMemoryCommunicator> SharedMemoryCommunicator::make_control() const {
  SharedGroup group{.channel = shared::kControlChannel,
                    .ranks = group_.ranks,
                    .own = rank_,
                    .last_number = region_.ring(shared::kControlChannel, world_rank(rank_))
                                       .worked.load(std::memory_order_seq_cst)};
  ensure(world_size_ == region_.world_size(), "control messages are for all ranks");
  return std::make_unique<SharedMemoryCommunicator>(region_, std::move(group), device_, chores_);
}

std::unique_ptr<Communicator> SharedMemoryCommunicator::split(Size colour, Size key,
                                                              Timeout timeout) {
  const shared::RankBlock& block = region_.rank_block(world_rank(rank_));
  const std::vector<Card> all = of_all_ranks(*this,
                                             Card{.colour = colour,
                                                  .key = key,
                                                  .place = rank_,
                                                  .rank = world_rank(rank_),
                                                  .last_number = block.last_number,
                                                  .free = free_channels(block)},
                                             timeout);
  // All ranks say so where one group has none, so that nobody waits for its ranks.
  for (const Card& card : all)
    if (common_channels(members_of(all, card.colour)) == 0)
      throw run_error(fmt::format("rank {}: no channel is left for another group of rank {}, which "
                                  "may be in {} at once",
                                  world_rank(rank_), card.rank, shared::kMostGroups),
                      "close groups that are not used any more");
  const std::vector<Card> members = members_of(all, colour);
  SharedGroup group{.channel =
                        shared::kFirstGroupChannel +
                        static_cast<std::size_t>(std::countr_zero(common_channels(members)))};
  for (const Card& member : members) {
    if (member.rank == world_rank(rank_)) group.own = std::ssize(group.ranks);
    group.ranks.push_back(member.rank);
    group.last_number = std::max(group.last_number, member.last_number);
  }
  return std::make_unique<SharedMemoryCommunicator>(region_, std::move(group), device_, chores_);
}

}  // namespace ptbench

#include "src/comm/shm/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/comm/operation_text.h"

namespace ptbench {

using shared::Change;
using shared::Collective;
using shared::Operation;

namespace {

/// All ranks of the region, after what `rank` has carried before in that channel: one that was here
/// earlier has finished what it started.
SharedGroup everyone(const SharedRegion& region, Size rank, std::size_t channel) {
  ensure(rank >= 0 && rank < region.world_size(), "a rank is one of its group");
  std::vector<Size> ranks(static_cast<std::size_t>(region.world_size()));
  std::iota(ranks.begin(), ranks.end(), Size{0});
  return {.channel = channel,
          .ranks = std::move(ranks),
          .own = rank,
          .last_number = region.ring(channel, rank).worked.load(std::memory_order_seq_cst)};
}

bool is_group(std::size_t channel) { return channel >= shared::kFirstGroupChannel; }

}  // namespace

SharedMemoryCommunicator::SharedMemoryCommunicator(const SharedRegion& region, Size rank,
                                                   Device* device)
    : SharedMemoryCommunicator(region, everyone(region, rank, shared::kDataChannel), device,
                               std::make_shared<shared::RankChores>()) {}

SharedMemoryCommunicator::SharedMemoryCommunicator(const SharedRegion& region, SharedGroup group,
                                                   Device* device,
                                                   std::shared_ptr<shared::RankChores> chores)
    : region_(region),
      group_(std::move(group)),
      header_(region.header()),
      sleepers_(header_.sleepers.at(group_.channel).count),
      rank_(group_.own),
      world_size_(std::ssize(group_.ranks)),
      device_(device),
      chores_(std::move(chores)),
      isa_(detect_isa()),
      arena_(region, world_rank(rank_)),
      staging_(region.staging(world_rank(rank_), group_.channel)),
      staging_offset_(region.offset_of(staging_.data())),
      slot_mask_(shared::slots_of(group_.channel) - 1),
      ticket_mask_(shared::most_outstanding(group_.channel) - 1),
      pairs_(group_.ranks.size()),
      pending_(shared::most_outstanding(group_.channel)),
      tickets_(shared::most_outstanding(group_.channel)),
      collectives_(group_.last_number),
      worked_(group_.last_number),
      exceptions_(std::uncaught_exceptions()) {
  for (const Size member : group_.ranks)
    sides_.push_back({.worked = &region_.ring(group_.channel, member).worked,
                      .slots = region_.slots(group_.channel, member),
                      .block = &region_.rank_block(member)});
  floats_.sources.reserve(sides_.size());
  floats_.destinations.reserve(sides_.size());
  bf16_.sources.reserve(sides_.size());
  bf16_.destinations.reserve(sides_.size());
  if (is_group(group_.channel))
    region_.rank_block(world_rank(rank_))
        .members.at(group_.channel - shared::kFirstGroupChannel)
        .fetch_add(world_size_, std::memory_order_seq_cst);
  chores_->join(*this);
}

SharedMemoryCommunicator::~SharedMemoryCommunicator() {
  if (started_ != finished_)
    abort("it left with operations outstanding");
  else if (std::uncaught_exceptions() > exceptions_)
    abort("an error ended it");
  chores_->leave(*this);
  if (!is_group(group_.channel)) return;
  shared::RankBlock& own = region_.rank_block(world_rank(rank_));
  own.last_number = std::max(own.last_number, collectives_);
  for (const Side& side : sides_)
    side.block->members.at(group_.channel - shared::kFirstGroupChannel)
        .fetch_sub(1, std::memory_order_seq_cst);
}

Communicator::Ticket SharedMemoryCommunicator::start_all_reduce(Values values, Reduction reduction,
                                                                const Event* after) {
  return start_reduction({.collective = Collective::all_reduce,
                          .wire = reduction.wire,
                          .type = values.type,
                          .scale = reduction.scale,
                          .bytes = values.bytes.size()},
                         values, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduce_scatter(Values values,
                                                                    Reduction reduction,
                                                                    const Event* after) {
  return start_reduction({.collective = Collective::reduce_scatter,
                          .wire = reduction.wire,
                          .type = values.type,
                          .scale = reduction.scale,
                          .bytes = values.bytes.size()},
                         values, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduce(Values values, Size root,
                                                            Reduction reduction,
                                                            const Event* after) {
  ensure(root >= 0 && root < world_size_, "the root of a reduction is a rank of the group");
  return start_reduction({.collective = Collective::reduce,
                          .wire = reduction.wire,
                          .type = values.type,
                          .at_root = reduction.at_root,
                          .scale = reduction.scale,
                          .root = root,
                          .bytes = values.bytes.size()},
                         values, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduction(Operation operation, Values values,
                                                               const Event* after) {
  ensure(values.bytes.size() % bytes_of(values.type) == 0, "values are whole elements");
  return start({.operation = operation, .input = values.bytes, .output = values.bytes},
               {0, static_cast<Size>(values.bytes.size())}, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_all_gather(Values values, const Event* after) {
  ensure(values.bytes.size() % bytes_of(values.type) == 0, "values are whole elements");
  const auto element = static_cast<Size>(bytes_of(values.type));
  const Range own = rank_part(values.count(), rank_, world_size_);
  return start({.operation = {.collective = Collective::all_gather,
                              .type = values.type,
                              .bytes = values.bytes.size()},
                .input = values.bytes,
                .output = values.bytes},
               {own.begin * element, own.end * element}, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_gather(std::span<const std::byte> part,
                                                            std::span<std::byte> whole, Size root,
                                                            const Event* after) {
  ensure(root >= 0 && root < world_size_, "the root of a gather is a rank of the group");
  const bool is_root = rank_ == root;
  ensure(!is_root || whole.size() == part.size() * static_cast<std::size_t>(world_size_),
         "a gather's whole holds every rank's part");
  return start({.operation = {.collective = Collective::gather, .root = root, .bytes = part.size()},
                .input = part,
                .output = whole},
               {0, is_root ? 0 : static_cast<Size>(part.size())}, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_broadcast(std::span<std::byte> bytes,
                                                               Size root, const Event* after) {
  ensure(root >= 0 && root < world_size_, "the root of a broadcast is a rank of the group");
  return start(
      {.operation = {.collective = Collective::broadcast, .root = root, .bytes = bytes.size()},
       .input = bytes,
       .output = bytes},
      {0, rank_ == root ? static_cast<Size>(bytes.size()) : 0}, after);
}

Communicator::Ticket SharedMemoryCommunicator::start_barrier() { return start({}, {}, nullptr); }

/// What every operation begins with. `read`: the bytes of the input that other ranks read.
SharedMemoryCommunicator::Pending& SharedMemoryCommunicator::begin(const Pending& started,
                                                                   Range read, const Event* after) {
  ensure(started_ - finished_ <= ticket_mask_, "operations are waited for in time");
  if (after != nullptr) after->finish();
  Pending& kept = pending(started_ + 1);
  kept = started;
  share(kept, read);
  ++started_;
  return kept;
}

Communicator::Ticket SharedMemoryCommunicator::start(const Pending& started, Range read,
                                                     const Event* after) {
  Pending& kept = begin(started, read, after);
  const std::uint64_t number = ++collectives_;
  kept.number = number;
  tickets_[number & ticket_mask_] = started_;
  shared::Slot& own = slot(rank_, number);
  own.operation = started.operation;
  own.offset = kept.offset;
  own.sequence.store(number, std::memory_order_seq_cst);
  if (has_sleepers() && have_all_come(number)) ring(Change::start);
  while (worked_ + 1 < number && may_work(worked_ + 1)) work(worked_ + 1);
  if (receiving_ > 0) (void)take_letters();
  return Ticket{started_};
}

/// Lets other ranks find the range `read` of the input, which is in bytes: there, or in the staging
/// area.
void SharedMemoryCommunicator::share(Pending& started, Range read) {
  if (read.empty()) return;
  if (arena_.contains(started.input.data(), started.input.size()))
    started.offset = region_.offset_of(started.input.data());
  else
    stage(started, read);
}

void SharedMemoryCommunicator::stage(Pending& started, Range read) {
  constexpr Bytes kLine = 64;
  const auto begin = staged_.take(started.input.size(), kLine, staging_.size());
  if (!begin)
    throw run_error(fmt::format("rank {}: {}: the values lie outside the shared memory, and the "
                                "staging area of {} has no room for them: {} is in use",
                                world_rank(rank_), text_of(started.operation),
                                format_bytes(staging_.size()), format_bytes(staged_.bytes())),
                    "wait for earlier operations first, or start smaller ones");
  std::byte* staged = staging_.data() + *begin;
  copy(started.input.subspan(static_cast<std::size_t>(read.begin),
                             static_cast<std::size_t>(read.size())),
       staged + read.begin);
  started.offset = region_.offset_of(staged);
}

void SharedMemoryCommunicator::unstage(const Pending& finished) {
  if (finished.offset >= staging_offset_ && finished.offset < staging_offset_ + staging_.size())
    staged_.give_back(finished.offset - staging_offset_);
}

bool SharedMemoryCommunicator::has_come(Size rank, std::uint64_t number) const {
  return slot(rank, number).sequence.load(std::memory_order_seq_cst) == number;
}

bool SharedMemoryCommunicator::has_worked(Size rank, std::uint64_t number) const {
  return sides_[static_cast<std::size_t>(rank)].worked->load(std::memory_order_seq_cst) >= number;
}

bool SharedMemoryCommunicator::have_all_come(std::uint64_t number) const {
  for (Size rank = 0; rank < world_size_; ++rank)
    if (!has_come(rank, number)) return false;
  return true;
}

/// Without waiting. Where ranks disagree, `wait` says so.
bool SharedMemoryCommunicator::may_work(std::uint64_t number) const {
  const Operation& own = slot(rank_, number).operation;
  for (Size rank = 0; rank < world_size_; ++rank)
    if (!has_come(rank, number) || slot(rank, number).operation != own) return false;
  return true;
}

void SharedMemoryCommunicator::ring(Change change) const {
  for (Size rank = 0; rank < world_size_; ++rank) ring(rank, change);
}

void SharedMemoryCommunicator::ring(Size rank, Change change) const {
  shared::RankBlock& block = *sides_[static_cast<std::size_t>(rank)].block;
  const std::uint32_t sleeps_for =
      block.sleeps_for.at(group_.channel).load(std::memory_order_seq_cst);
  if ((sleeps_for & static_cast<std::uint32_t>(change)) != 0) shared::ring_bell(block);
}

bool SharedMemoryCommunicator::has_chores(bool with_collectives) const {
  return receiving_ > 0 || (with_collectives && worked_ < collectives_);
}

bool SharedMemoryCommunicator::do_chores(bool with_collectives) {
  const std::uint64_t before = worked_;
  while (with_collectives && worked_ < collectives_ && may_work(worked_ + 1)) work(worked_ + 1);
  const bool took = receiving_ > 0 && take_letters();
  return took || worked_ > before;
}

void SharedMemoryCommunicator::add_changes(bool with_collectives,
                                           shared::SleepsFor& sleeps_for) const {
  std::uint32_t& changes = sleeps_for.at(group_.channel);
  if (receiving_ > 0) changes |= static_cast<std::uint32_t>(Change::letter);
  if (with_collectives && worked_ < collectives_)
    changes |= static_cast<std::uint32_t>(Change::start);
}

}  // namespace ptbench

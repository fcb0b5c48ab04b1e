// What SharedMemoryCommunicator does between the moments when all ranks have come and when all have
// finished.
#include <algorithm>
#include <cstring>

#include "src/comm/reduce.h"
#include "src/comm/shared_memory.h"

namespace ptbench {

using shared::Collective;
using shared::Operation;

namespace {

// Less than this is done sooner than a team is woken.
constexpr Size kLeastForMember = Size{64} * 1024;  // bytes

Range shifted(Range range, Size by) { return {range.begin + by, range.end + by}; }

}  // namespace

void SharedMemoryCommunicator::work(std::uint64_t number) {
  switch (pending(number).operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce: reduce(number); break;
    case Collective::all_gather: all_gather(number); break;
    case Collective::gather: gather(number); break;
    case Collective::broadcast: broadcast(number); break;
    case Collective::barrier: break;
  }
  worked_ = number;
  blocks_[static_cast<std::size_t>(rank_)]->worked.store(number, std::memory_order_seq_cst);
  if (has_sleepers() && ends_sleep(number)) region_.ring(shared::Change::work);
}

/// Whether this rank's work was the last that others may sleep for. A root that works alone is
/// awaited alone.
bool SharedMemoryCommunicator::ends_sleep(std::uint64_t worked) const {
  const Operation& operation = slot(rank_, worked).operation;
  const bool at_root = operation.collective == Collective::gather || operation.at_root;
  if (at_root && operation.root == rank_) return true;
  for (Size rank = 0; rank < world_size_; ++rank)
    if (!has_worked(rank, worked)) return false;
  return true;
}

void SharedMemoryCommunicator::reduce(std::uint64_t number) {
  const Operation& operation = pending(number).operation;
  if (operation.at_root && operation.root != rank_) return;
  sources_.clear();
  destinations_.clear();
  for (Size rank = 0; rank < world_size_; ++rank) {
    auto* values = reinterpret_cast<float*>(region_.at(slot(rank, number).offset));
    sources_.push_back(values);
    const bool is_wanted = operation.collective == Collective::all_reduce ||
                           (operation.collective == Collective::reduce_scatter && rank == rank_) ||
                           (operation.collective == Collective::reduce && rank == operation.root);
    if (is_wanted) destinations_.push_back(values);
  }
  const Reduction reduction{.scale = operation.scale, .wire = operation.wire};
  const ResultType result =
      operation.collective == Collective::all_reduce ? ResultType::wire : ResultType::fp32;
  const auto count = static_cast<Size>(operation.bytes / sizeof(float));
  const Range own = operation.at_root ? Range{0, count} : rank_part(count, rank_, world_size_);
  for_parts(own, [&](Range part) {
    reduce_range(isa_, {.sources = sources_, .destinations = destinations_}, part, reduction,
                 result);
  });
}

void SharedMemoryCommunicator::all_gather(std::uint64_t number) {
  constexpr auto kFloat = static_cast<Size>(sizeof(float));
  const Pending& own = pending(number);
  const auto count = static_cast<Size>(own.operation.bytes) / kFloat;
  for (Size rank = 0; rank < world_size_; ++rank) {
    if (rank == rank_) continue;
    const Range part = rank_part(count, rank, world_size_);
    const std::byte* source = region_.at(slot(rank, number).offset) + part.begin * kFloat;
    copy({source, static_cast<std::size_t>(part.size() * kFloat)},
         own.output.data() + part.begin * kFloat);
  }
}

void SharedMemoryCommunicator::gather(std::uint64_t number) {
  const Pending& own = pending(number);
  const Bytes bytes = own.operation.bytes;
  if (rank_ != own.operation.root) return;
  for (Size rank = 0; rank < world_size_; ++rank) {
    const std::byte* source =
        rank == rank_ ? own.input.data() : region_.at(slot(rank, number).offset);
    copy({source, bytes}, own.output.data() + static_cast<Bytes>(rank) * bytes);
  }
}

void SharedMemoryCommunicator::broadcast(std::uint64_t number) {
  const Pending& own = pending(number);
  if (rank_ == own.operation.root) return;
  copy({region_.at(slot(own.operation.root, number).offset), own.operation.bytes},
       own.output.data());
}

void SharedMemoryCommunicator::copy_staged_result(const Pending& own) {
  const bool is_reduced =
      own.operation.collective == Collective::all_reduce ||
      own.operation.collective == Collective::reduce_scatter ||
      (own.operation.collective == Collective::reduce && own.operation.root == rank_);
  if (is_reduced && own.offset > 0)
    copy({region_.at(own.offset), own.output.size()}, own.output.data());
}

void SharedMemoryCommunicator::copy(std::span<const std::byte> source, std::byte* destination) {
  if (source.empty() || source.data() == destination) return;
  for_parts({0, static_cast<Size>(source.size() / sizeof(float))}, [&](Range part) {
    const Size begin = part.begin * static_cast<Size>(sizeof(float));
    const Size size = part.size() * static_cast<Size>(sizeof(float));
    std::memcpy(destination + begin, source.data() + begin, static_cast<std::size_t>(size));
  });
  const std::size_t rest = source.size() % sizeof(float);
  const std::size_t whole = source.size() - rest;
  std::memcpy(destination + whole, source.data() + whole, rest);
}

/// Cuts a range of floats into whole cache lines, one part a member of the team, where that pays.
void SharedMemoryCommunicator::for_parts(Range range, FunctionRef<void(Range)> job) {
  if (range.empty()) return;
  const Size bytes = range.size() * static_cast<Size>(sizeof(float));
  const Size members =
      team_ == nullptr ? 1 : std::min<Size>(team_->size(), bytes / kLeastForMember);
  if (members <= 1) {
    job(range);
    return;
  }
  team_->run(static_cast<int>(members), [&](int member) {
    job(shifted(rank_part(range.size(), member, members), range.begin));
  });
}

}  // namespace ptbench

// What SharedMemoryCommunicator does between the moments when all ranks have come and when all have
// finished.
#include <algorithm>
#include <cstring>

#include "src/comm/shm/reduce.h"
#include "src/comm/shm/shared_memory.h"

namespace ptbench {

using shared::Collective;
using shared::Operation;

namespace {

// Less than this is done sooner than other threads are woken.
constexpr Size kLeastForMember = Size{64} * 1024;  // bytes

Range shifted(Range range, Size by) { return {range.begin + by, range.end + by}; }

}  // namespace

void SharedMemoryCommunicator::work(std::uint64_t number) {
  switch (collective(number).operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce: reduce(number); break;
    case Collective::all_gather: all_gather(number); break;
    case Collective::gather: gather(number); break;
    case Collective::broadcast: broadcast(number); break;
    case Collective::barrier:
    case Collective::send:
    case Collective::receive: break;
  }
  worked_ = number;
  sides_[static_cast<std::size_t>(rank_)].worked->store(number, std::memory_order_seq_cst);
  note_work();
  if (has_sleepers() && ends_sleep(number)) ring(shared::Change::work);
}

void SharedMemoryCommunicator::note_work() {
  std::atomic<std::uint64_t>& worked = sides_[static_cast<std::size_t>(rank_)].block->worked;
  worked.store(worked.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
  const Operation& operation = collective(number).operation;
  if (operation.at_root && operation.root != rank_) return;
  const Bytes element = bytes_of(operation.type);
  const auto count = static_cast<Size>(operation.bytes / element);
  const Range own = operation.at_root ? Range{0, count} : rank_part(count, rank_, world_size_);
  if (operation.type == ElementType::bf16) {
    const ReducedBf16 buffers = buffers_of(number, bf16_);
    for_parts(own, element,
              [&](Range part) { reduce_bf16_range(isa_, buffers, part, operation.scale); });
    return;
  }
  const ReducedBuffers buffers = buffers_of(number, floats_);
  const Reduction reduction{.scale = operation.scale, .wire = operation.wire};
  const ResultType result =
      operation.collective == Collective::all_reduce ? ResultType::wire : ResultType::fp32;
  for_parts(own, element,
            [&](Range part) { reduce_range(isa_, buffers, part, reduction, result); });
}

template <class Value>
ReducedBuffersOf<Value> SharedMemoryCommunicator::buffers_of(std::uint64_t number,
                                                             Operands<Value>& kept) {
  const Operation& operation = collective(number).operation;
  kept.sources.clear();
  kept.destinations.clear();
  for (Size rank = 0; rank < world_size_; ++rank) {
    auto* values = reinterpret_cast<Value*>(region_.at(slot(rank, number).offset));
    kept.sources.push_back(values);
    const bool is_wanted = operation.collective == Collective::all_reduce ||
                           (operation.collective == Collective::reduce_scatter && rank == rank_) ||
                           (operation.collective == Collective::reduce && rank == operation.root);
    if (is_wanted) kept.destinations.push_back(values);
  }
  return {.sources = kept.sources, .destinations = kept.destinations};
}

void SharedMemoryCommunicator::all_gather(std::uint64_t number) {
  const Pending& own = collective(number);
  const auto element = static_cast<Size>(bytes_of(own.operation.type));
  const auto count = static_cast<Size>(own.operation.bytes) / element;
  for (Size rank = 0; rank < world_size_; ++rank) {
    if (rank == rank_) continue;
    const Range part = rank_part(count, rank, world_size_);
    const std::byte* source = region_.at(slot(rank, number).offset) + part.begin * element;
    copy({source, static_cast<std::size_t>(part.size() * element)},
         own.output.data() + part.begin * element);
  }
}

void SharedMemoryCommunicator::gather(std::uint64_t number) {
  const Pending& own = collective(number);
  const Bytes bytes = own.operation.bytes;
  if (rank_ != own.operation.root) return;
  for (Size rank = 0; rank < world_size_; ++rank) {
    const std::byte* source =
        rank == rank_ ? own.input.data() : region_.at(slot(rank, number).offset);
    copy({source, bytes}, own.output.data() + static_cast<Bytes>(rank) * bytes);
  }
}

void SharedMemoryCommunicator::broadcast(std::uint64_t number) {
  const Pending& own = collective(number);
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
  constexpr Bytes kWord = sizeof(float);
  for_parts({0, static_cast<Size>(source.size() / kWord)}, kWord, [&](Range part) {
    const Size begin = part.begin * static_cast<Size>(kWord);
    const Size size = part.size() * static_cast<Size>(kWord);
    std::memcpy(destination + begin, source.data() + begin, static_cast<std::size_t>(size));
  });
  const std::size_t rest = source.size() % kWord;
  const std::size_t whole = source.size() - rest;
  std::memcpy(destination + whole, source.data() + whole, rest);
}

/// Cuts a range of elements of so many bytes into whole cache lines, one part a host thread of the
/// device, where that pays.
void SharedMemoryCommunicator::for_parts(Range range, Bytes element, FunctionRef<void(Range)> job) {
  if (range.empty()) return;
  const Size bytes = range.size() * static_cast<Size>(element);
  const Size members =
      device_ == nullptr ? 1 : std::min<Size>(device_->host_threads(), bytes / kLeastForMember);
  if (members <= 1) {
    job(range);
    return;
  }
  device_->run_on_host(static_cast<int>(members), [&](int member) {
    job(shifted(rank_part(range.size(), member, members), range.begin));
  });
}

}  // namespace ptbench

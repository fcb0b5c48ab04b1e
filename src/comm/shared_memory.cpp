#include "src/comm/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/comm/operation_text.h"

namespace ptbench {

using shared::Change;
using shared::Collective;
using shared::Operation;

SharedMemoryCommunicator::SharedMemoryCommunicator(const SharedRegion& region, Size rank,
                                                   Team* team)
    : region_(region),
      header_(region.header()),
      rank_(rank),
      world_size_(region.world_size()),
      team_(team),
      isa_(detect_isa()),
      arena_(region, rank),
      staging_(region.staging(rank)),
      staging_offset_(region.offset_of(staging_.data())),
      pending_(shared::kMostOutstanding),
      exceptions_(std::uncaught_exceptions()) {
  ensure(rank >= 0 && rank < world_size_, "a rank is one of its group");
  for (Size other = 0; other < world_size_; ++other) blocks_.push_back(&region_.rank_block(other));
  sources_.reserve(blocks_.size());
  destinations_.reserve(blocks_.size());
  // One that was here before has finished what it started.
  started_ = worked_ = finished_ =
      blocks_[static_cast<std::size_t>(rank)]->worked.load(std::memory_order_seq_cst);
}

SharedMemoryCommunicator::~SharedMemoryCommunicator() {
  if (started_ != finished_)
    abort("it left with operations outstanding");
  else if (std::uncaught_exceptions() > exceptions_)
    abort("an error ended it");
}

Communicator::Ticket SharedMemoryCommunicator::start_all_reduce(std::span<float> values,
                                                                Reduction reduction) {
  return start_reduction({.collective = Collective::all_reduce,
                          .wire = reduction.wire,
                          .scale = reduction.scale,
                          .bytes = values.size_bytes()},
                         values);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduce_scatter(std::span<float> values,
                                                                    Reduction reduction) {
  return start_reduction({.collective = Collective::reduce_scatter,
                          .wire = reduction.wire,
                          .scale = reduction.scale,
                          .bytes = values.size_bytes()},
                         values);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduce(std::span<float> values, Size root,
                                                            Reduction reduction) {
  ensure(root >= 0 && root < world_size_, "the root of a reduction is a rank of the group");
  return start_reduction({.collective = Collective::reduce,
                          .wire = reduction.wire,
                          .at_root = reduction.at_root,
                          .scale = reduction.scale,
                          .root = root,
                          .bytes = values.size_bytes()},
                         values);
}

Communicator::Ticket SharedMemoryCommunicator::start_reduction(Operation operation,
                                                               std::span<float> values) {
  const auto bytes = std::as_writable_bytes(values);
  return start({.operation = operation, .input = bytes, .output = bytes},
               {0, static_cast<Size>(bytes.size())});
}

Communicator::Ticket SharedMemoryCommunicator::start_all_gather(std::span<float> values) {
  constexpr Size kFloat = sizeof(float);
  const auto bytes = std::as_writable_bytes(values);
  const Range own = rank_part(static_cast<Size>(values.size()), rank_, world_size_);
  return start({.operation = {.collective = Collective::all_gather, .bytes = bytes.size()},
                .input = bytes,
                .output = bytes},
               {own.begin * kFloat, own.end * kFloat});
}

Communicator::Ticket SharedMemoryCommunicator::start_gather(std::span<const std::byte> part,
                                                            std::span<std::byte> whole, Size root) {
  ensure(root >= 0 && root < world_size_, "the root of a gather is a rank of the group");
  const bool is_root = rank_ == root;
  ensure(!is_root || whole.size() == part.size() * static_cast<std::size_t>(world_size_),
         "a gather's whole holds every rank's part");
  return start({.operation = {.collective = Collective::gather, .root = root, .bytes = part.size()},
                .input = part,
                .output = whole},
               {0, is_root ? 0 : static_cast<Size>(part.size())});
}

Communicator::Ticket SharedMemoryCommunicator::start_broadcast(std::span<std::byte> bytes,
                                                               Size root) {
  ensure(root >= 0 && root < world_size_, "the root of a broadcast is a rank of the group");
  return start(
      {.operation = {.collective = Collective::broadcast, .root = root, .bytes = bytes.size()},
       .input = bytes,
       .output = bytes},
      {0, rank_ == root ? static_cast<Size>(bytes.size()) : 0});
}

Communicator::Ticket SharedMemoryCommunicator::start_barrier() { return start({}, {}); }

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
    throw run_error(
        fmt::format("rank {}: {}: the values lie outside the shared memory, and no room "
                    "for them is left in a staging area of {}, of which {} is in use",
                    rank_, operation_text(started.operation), format_bytes(staging_.size()),
                    format_bytes(staged_.bytes())),
        "wait for earlier operations first, or start smaller ones");
  std::byte* staged = staging_.data() + *begin;
  copy(started.input.subspan(static_cast<std::size_t>(read.begin),
                             static_cast<std::size_t>(read.size())),
       staged + read.begin);
  started.offset = region_.offset_of(staged);
}

void SharedMemoryCommunicator::unstage(const Pending& finished) {
  // Beyond the rank's arena, where all else lies that it shares.
  if (finished.offset >= staging_offset_) staged_.give_back(finished.offset - staging_offset_);
}

SharedMemoryCommunicator::Pending& SharedMemoryCommunicator::pending(std::uint64_t number) {
  return pending_[number % shared::kMostOutstanding];
}

bool SharedMemoryCommunicator::has_come(Size rank, std::uint64_t number) const {
  return slot(rank, number).sequence.load(std::memory_order_seq_cst) == number;
}

bool SharedMemoryCommunicator::has_worked(Size rank, std::uint64_t number) const {
  return blocks_[static_cast<std::size_t>(rank)]->worked.load(std::memory_order_seq_cst) >= number;
}

/// Whether `rank` reads or writes what this rank gave to the operation, or writes what it gets.
bool SharedMemoryCommunicator::is_awaited(Size rank, const Operation& operation) const {
  if (rank == rank_) return false;
  switch (operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather: return true;
    case Collective::reduce: return !operation.at_root || rank == operation.root;
    case Collective::gather: return rank == operation.root;
    case Collective::broadcast: return rank_ == operation.root;
    case Collective::barrier: return false;
  }
  return true;
}

/// `read`: the bytes of the input that other ranks read.
Communicator::Ticket SharedMemoryCommunicator::start(const Pending& started, Range read) {
  ensure(started_ - finished_ < shared::kMostOutstanding, "operations are waited for in time");
  const std::uint64_t number = started_ + 1;
  Pending& kept = pending(number);
  kept = started;
  share(kept, read);
  started_ = number;
  shared::Slot& own = slot(rank_, number);
  own.operation = started.operation;
  own.offset = kept.offset;
  own.sequence.store(number, std::memory_order_seq_cst);
  if (has_sleepers() && have_all_come(number)) region_.ring(Change::start);
  while (worked_ + 1 < number && may_work(worked_ + 1)) work(worked_ + 1);
  return Ticket{number};
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

void SharedMemoryCommunicator::wait(Ticket ticket, Timeout timeout) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  LazyDeadline deadline(timeout, clock_);
  while (worked_ < number) {
    meet(worked_ + 1, deadline);
    work(worked_ + 1);
  }
  while (finished_ < number) finish(finished_ + 1, deadline);
}

void SharedMemoryCommunicator::meet(std::uint64_t number, LazyDeadline& deadline) {
  Size coming = 0;
  const WaitEnd end = shared::await(waiter(Change::start), deadline, [&] {
    while (coming < world_size_ && has_come(coming, number)) ++coming;
    return coming == world_size_;
  });
  if (end != WaitEnd::held) {
    std::vector<Size> missing;
    for (Size rank = 0; rank < world_size_; ++rank)
      if (!has_come(rank, number)) missing.push_back(rank);
    fail(number, end, deadline, missing, "did not come");
  }
  check_agreement(number);
}

void SharedMemoryCommunicator::check_agreement(std::uint64_t number) {
  const Operation& own = slot(rank_, number).operation;
  for (Size rank = 0; rank < world_size_; ++rank) {
    const Operation& other = slot(rank, number).operation;
    if (other == own) continue;
    const Error error = run_error(
        fmt::format("the ranks' operations number {} differ: rank {} started {}, rank {} {}",
                    number, rank_, operation_text(own), rank, operation_text(other)),
        "start all ranks with the same options and data");
    abort(error.what());
    throw error;
  }
}

void SharedMemoryCommunicator::finish(std::uint64_t number, LazyDeadline& deadline) {
  const Pending& own = pending(number);
  Size working = 0;
  const auto is_done = [&](Size rank) {
    return !is_awaited(rank, own.operation) || has_worked(rank, number);
  };
  const WaitEnd end = shared::await(waiter(Change::work), deadline, [&] {
    while (working < world_size_ && is_done(working)) ++working;
    return working == world_size_;
  });
  if (end != WaitEnd::held) {
    std::vector<Size> missing;
    for (Size rank = 0; rank < world_size_; ++rank)
      if (!is_done(rank)) missing.push_back(rank);
    fail(number, end, deadline, missing, "did not finish");
  }
  copy_staged_result(own);
  unstage(own);
  finished_ = number;
}

void SharedMemoryCommunicator::fail(std::uint64_t number, WaitEnd end, LazyDeadline& deadline,
                                    const std::vector<Size>& missing, std::string_view what) {
  const std::string where =
      fmt::format("rank {}: {}", rank_, operation_text(pending(number).operation));
  if (end == WaitEnd::given_up) {
    const GivenUp by = region_.given_up().value();
    throw run_error(fmt::format("{}: rank {} gave up: {}", where, by.rank, by.reason),
                    "see what that rank reported");
  }
  const double seconds = std::chrono::duration<double>(deadline.timeout()).count();
  const Error error =
      run_error(fmt::format("{}: {} {} within {:g} s", where, ranks_text(missing), what, seconds),
                "see what became of it, or give a longer --timeout");
  abort(error.what());
  throw error;
}

}  // namespace ptbench

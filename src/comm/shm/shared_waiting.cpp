// How SharedMemoryCommunicator waits for other ranks, and what it says of those that do not come.
#include <fmt/format.h>

#include "src/base/error.h"
#include "src/comm/operation_text.h"
#include "src/comm/shm/shared_memory.h"

namespace ptbench {

using shared::Change;
using shared::Collective;
using shared::Operation;

namespace {

bool is_message(const Operation& operation) {
  return operation.collective == Collective::send || operation.collective == Collective::receive;
}

}  // namespace

void SharedMemoryCommunicator::wait(Ticket ticket, Timeout timeout) {
  const auto last = static_cast<std::uint64_t>(ticket);
  ensure(last >= 1 && last <= started_, "a ticket comes from a started operation");
  LazyDeadline deadline(timeout, clock_);
  std::uint64_t collective = last;  // the last one up to there, if it is not finished
  while (collective > finished_ && is_message(pending(collective).operation)) --collective;
  if (collective > finished_)
    for (const std::uint64_t number = pending(collective).number; worked_ < number;) {
      meet(worked_ + 1, deadline);
      // Where waiting has done it meanwhile.
      if (worked_ < number) work(worked_ + 1);
    }
  while (finished_ < last) finish(finished_ + 1, deadline);
}

void SharedMemoryCommunicator::order(Queue& /*queue*/, Ticket ticket, Timeout timeout) {
  wait(ticket, timeout);
}

shared::Waiter SharedMemoryCommunicator::waiter(Change change) {
  const bool for_collective = change == Change::start || change == Change::work;
  return {.header = header_,
          .own = *sides_[static_cast<std::size_t>(rank_)].block,
          .change = change,
          .channel = group_.channel,
          .chores = chores_->beside(*this, for_collective)};
}

void SharedMemoryCommunicator::meet(std::uint64_t number, LazyDeadline& deadline) {
  Size coming = 0;
  const WaitEnd end = await(Change::start, deadline, [&] {
    while (coming < world_size_ && has_come(coming, number)) ++coming;
    return coming == world_size_;
  });
  if (end != WaitEnd::held) {
    std::vector<Size> missing;
    for (Size rank = 0; rank < world_size_; ++rank)
      if (!has_come(rank, number)) missing.push_back(rank);
    fail(collective(number), end, deadline, missing, "did not come");
  }
  check_agreement(number);
}

void SharedMemoryCommunicator::check_agreement(std::uint64_t number) {
  const Operation& own = slot(rank_, number).operation;
  for (Size rank = 0; rank < world_size_; ++rank) {
    const Operation& other = slot(rank, number).operation;
    if (other == own) continue;
    give_up(run_error(fmt::format("operation number {}{} differs: rank {} started {}, rank {} {}",
                                  number - group_.last_number, among(), world_rank(rank_),
                                  text_of(own), world_rank(rank), text_of(other)),
                      "start all ranks with the same options and data"));
  }
}

void SharedMemoryCommunicator::finish(std::uint64_t ticket, LazyDeadline& deadline) {
  Pending& own = pending(ticket);
  switch (own.operation.collective) {
    case Collective::send: finish_send(own, deadline); break;
    case Collective::receive: finish_receive(own, deadline); break;
    default: finish_collective(own, deadline); break;
  }
  unstage(own);
  finished_ = ticket;
}

void SharedMemoryCommunicator::finish_collective(const Pending& own, LazyDeadline& deadline) {
  Size working = 0;
  const auto is_done = [&](Size rank) {
    return !is_awaited(rank, own.operation) || has_worked(rank, own.number);
  };
  const WaitEnd end = await(Change::work, deadline, [&] {
    while (working < world_size_ && is_done(working)) ++working;
    return working == world_size_;
  });
  if (end != WaitEnd::held) {
    std::vector<Size> missing;
    for (Size rank = 0; rank < world_size_; ++rank)
      if (!is_done(rank)) missing.push_back(rank);
    fail(own, end, deadline, missing, "did not finish");
  }
  copy_staged_result(own);
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
    case Collective::send:
    case Collective::receive: break;
  }
  return true;
}

std::string SharedMemoryCommunicator::text_of(Operation operation) const {
  operation.root = world_rank(operation.root);
  return operation_text(operation);
}

/// Of a group that is not the world, which one.
std::string SharedMemoryCommunicator::among() const {
  if (group_.channel < shared::kFirstGroupChannel) return {};
  return fmt::format(" among {}", ranks_text(group_.ranks));
}

void SharedMemoryCommunicator::give_up(const Error& error) {
  abort(error.what());
  throw error;
}

/// `missing`: by their numbers in the group.
void SharedMemoryCommunicator::fail(const Pending& own, WaitEnd end, LazyDeadline& deadline,
                                    const std::vector<Size>& missing, std::string_view what) {
  const std::string where =
      fmt::format("rank {}: {}{}", world_rank(rank_), text_of(own.operation), among());
  if (end == WaitEnd::given_up) {
    const GivenUp by = region_.given_up().value();
    throw run_error(fmt::format("{}: rank {} gave up: {}", where, by.rank, by.reason),
                    "see what that rank reported");
  }
  std::vector<Size> absent;
  for (const Size rank : missing) absent.push_back(world_rank(rank));
  const double seconds = std::chrono::duration<double>(deadline.timeout()).count();
  give_up(
      run_error(fmt::format("{}: {} {} within {:g} s", where, ranks_text(absent), what, seconds),
                "find out what happened to it, or give a longer --timeout"));
}

}  // namespace ptbench

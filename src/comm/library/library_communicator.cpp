#include "src/comm/library/library_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/comm/exchange.h"
#include "src/comm/library/leaders_library.h"
#include "src/comm/operation_text.h"
#include "src/device/affinity.h"

namespace ptbench {

using shared::Collective;
using shared::Operation;

namespace {

std::size_t place_of_rank(Size rank) { return static_cast<std::size_t>(rank); }

/// Of a send, which reads it only.
std::span<std::byte> only_read(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

std::string text_of_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

Size place_in(const std::vector<Size>& members, Size rank) {
  return std::ranges::find(members, rank) - members.begin();
}

std::unique_ptr<GroupLibrary> library_for(const LibraryRank& rank, Communicator& host,
                                          const std::vector<Size>& members) {
  return members.size() > 1 ? rank.make(host, members) : nullptr;
}

}  // namespace

LibraryCommunicator::LibraryCommunicator(std::shared_ptr<LibraryRank> rank,
                                         std::unique_ptr<Communicator> host,
                                         std::vector<Size> members)
    : rank_(std::move(rank)),
      host_(std::move(host)),
      members_(std::move(members)),
      own_(place_in(members_, rank_->rank)),
      library_(library_for(*rank_, host_ ? *host_ : *rank_->host, members_)),
      work_(library_.get(), own_, std::ssize(members_)),
      exceptions_(std::uncaught_exceptions()),
      sent_(members_.size()),
      received_(members_.size()),
      worker_([this] { work(); }) {}

LibraryCommunicator::~LibraryCommunicator() {
  const bool has_failed = std::uncaught_exceptions() > exceptions_;
  if (has_failed) {
    rank_->is_failed = true;
    rank_->region.give_up(rank_->rank, "an error ended it");
  } else if (started_ != finished_) {
    rank_->is_failed = true;
    rank_->region.give_up(rank_->rank, "it left with operations outstanding");
  }
  stop(rank_->is_failed);
  pending_.clear();
  if (!rank_->is_failed) rank_->ended.push_back(std::move(library_));
}

/// `at_once`: without what was started.
void LibraryCommunicator::stop(bool at_once) {
  if (at_once && library_ != nullptr) library_->abort();
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    if (at_once) given_.clear();
  }
  changed_.notify_all();
  worker_.join();
}

/// Of the worker.
void LibraryCommunicator::work() {
  spread_this_thread(rank_->cpus);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || !given_.empty(); });
    if (given_.empty()) return;
    const Started& next = *given_.front();
    given_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_.run(next.operation, next.values, next.whole);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
      given_.clear();
    } else {
      ++worked_;
    }
    changed_.notify_all();
    if (failure) return;
  }
}

MemorySource& LibraryCommunicator::memory() {
  MemorySource* const of_library = library_ != nullptr ? library_->memory() : nullptr;
  return of_library != nullptr ? *of_library : memory_;
}

std::uint64_t LibraryCommunicator::count_collective() const {
  if (host_ != nullptr) return 0;  // a group has an order of its own
  return rank_->region.rank_block(rank_->rank)
             .started_on_device.fetch_add(1, std::memory_order_seq_cst) +
         1;
}

void LibraryCommunicator::begin(const Event* after, const Operation& operation) {
  require_going(operation);
  if (after != nullptr) after->finish();
  rank_->region.rank_block(rank_->rank).worked.fetch_add(1, std::memory_order_relaxed);
}

Communicator::Ticket LibraryCommunicator::start(Started started, const Event* after) {
  begin(after, started.operation);
  started.number = ++collectives_;
  started.counted = count_collective();
  pending_.push_back(std::move(started));
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) given_.push_back(&pending_.back());
  }
  changed_.notify_all();
  return Ticket{++started_};
}

Communicator::Ticket LibraryCommunicator::start_reduction(Operation operation, Values values,
                                                          const Event* after) {
  ensure(values.bytes.size() % bytes_of(values.type) == 0, "values are whole elements");
  operation.type = values.type;
  operation.bytes = values.bytes.size();
  return start({.operation = operation, .values = values.bytes}, after);
}

Communicator::Ticket LibraryCommunicator::start_all_reduce(Values values, Reduction reduction,
                                                           const Event* after) {
  return start_reduction(
      {.collective = Collective::all_reduce, .wire = reduction.wire, .scale = reduction.scale},
      values, after);
}

Communicator::Ticket LibraryCommunicator::start_reduce_scatter(Values values, Reduction reduction,
                                                               const Event* after) {
  return start_reduction(
      {.collective = Collective::reduce_scatter, .wire = reduction.wire, .scale = reduction.scale},
      values, after);
}

Communicator::Ticket LibraryCommunicator::start_reduce(Values values, Size root,
                                                       Reduction reduction, const Event* after) {
  require_member(root);
  return start_reduction({.collective = Collective::reduce,
                          .wire = reduction.wire,
                          .at_root = reduction.at_root,
                          .scale = reduction.scale,
                          .root = root},
                         values, after);
}

Communicator::Ticket LibraryCommunicator::start_all_gather(Values values, const Event* after) {
  return start_reduction({.collective = Collective::all_gather}, values, after);
}

Communicator::Ticket LibraryCommunicator::start_gather(std::span<const std::byte> part,
                                                       std::span<std::byte> whole, Size root,
                                                       const Event* after) {
  require_member(root);
  ensure(own_ != root || whole.size() == part.size() * members_.size(),
         "a gather's whole holds every rank's part");
  return start({.operation = {.collective = Collective::gather, .root = root, .bytes = part.size()},
                .values = only_read(part),
                .whole = whole},
               after);
}

Communicator::Ticket LibraryCommunicator::start_broadcast(std::span<std::byte> bytes, Size root,
                                                          const Event* after) {
  require_member(root);
  return start(
      {.operation = {.collective = Collective::broadcast, .root = root, .bytes = bytes.size()},
       .values = bytes},
      after);
}

Communicator::Ticket LibraryCommunicator::start_barrier() { return start({}, nullptr); }

Communicator::Ticket LibraryCommunicator::start_send(std::span<const std::byte> bytes, Size to,
                                                     const Event* after) {
  require_member(to);
  Started sent{.operation = {.collective = Collective::send, .root = to, .bytes = bytes.size()},
               .values = only_read(bytes)};
  begin(after, sent.operation);
  if (to != own_) sent.message = library_->send(bytes, to, ++sent_[place_of_rank(to)]);
  pending_.push_back(std::move(sent));
  if (to == own_) give_messages_to_self();
  return Ticket{++started_};
}

Communicator::Ticket LibraryCommunicator::start_receive(std::span<std::byte> bytes, Size from,
                                                        const Event* after) {
  require_member(from);
  Started received{
      .operation = {.collective = Collective::receive, .root = from, .bytes = bytes.size()},
      .values = bytes};
  begin(after, received.operation);
  if (from != own_)
    received.message = library_->receive(bytes, from, ++received_[place_of_rank(from)]);
  pending_.push_back(std::move(received));
  if (from == own_) give_messages_to_self();
  return Ticket{++started_};
}

/// What was started last is for this rank: copies it where its other half is there.
void LibraryCommunicator::give_messages_to_self() {
  Started& last = pending_.back();
  if (to_self_.empty() || to_self_.front()->operation.collective == last.operation.collective) {
    to_self_.push_back(&last);
    return;
  }
  Started& other = *to_self_.front();
  to_self_.pop_front();
  const bool is_send = last.operation.collective == Collective::send;
  const Started& send = is_send ? last : other;
  const Started& receive = is_send ? other : last;
  if (send.values.size() != receive.values.size())
    fail(receive, fmt::format("{} bytes were sent", send.values.size()));
  std::ranges::copy(send.values, receive.values.begin());
}

void LibraryCommunicator::wait(Ticket ticket, Timeout timeout) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  const Clock::time_point deadline = Clock::now() + timeout;
  while (finished_ < number) {
    finish(pending_.front(), timeout, deadline);
    pending_.pop_front();
    ++finished_;
  }
}

void LibraryCommunicator::order(Queue& /*queue*/, Ticket ticket, Timeout timeout) {
  wait(ticket, timeout);
}

void LibraryCommunicator::finish(Started& first, Timeout timeout, Clock::time_point deadline) {
  if (first.number > 0)
    await_collective(first, timeout, deadline);
  else if (first.message != nullptr)
    await_message(first, timeout, deadline);
  else if (std::ranges::find(to_self_, &first) != to_self_.end())
    fail(first, fmt::format("rank {} does not start its other half", rank_->rank));
}

void LibraryCommunicator::await_collective(const Started& first, Timeout timeout,
                                           Clock::time_point deadline) {
  // How long it takes at most to learn that a rank gave up.
  constexpr std::chrono::milliseconds kNap{20};
  std::unique_lock lock(mutex_);
  while (worked_ < first.number && !failure_) {
    changed_.wait_for(lock, kNap);
    if (worked_ >= first.number || failure_) break;
    lock.unlock();
    require_going(first.operation);
    if (Clock::now() >= deadline) fail_late(first, late_ranks(first.counted), timeout);
    lock.lock();
  }
  if (worked_ >= first.number) return;
  const std::exception_ptr failure = failure_;
  lock.unlock();
  fail(first, text_of_failure(failure));
}

void LibraryCommunicator::await_message(Started& first, Timeout timeout,
                                        Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Timeout>(deadline - Clock::now());
  try {
    const SurrenderWatch::Wait wait(rank_->watch, *library_);
    first.message->finish(std::max(left, Timeout(1)));
  } catch (const std::exception& error) {
    if (Clock::now() < deadline) fail(first, error.what());
    fail_late(first,
              fmt::format("rank {} did not {} it", members_[place_of_rank(first.operation.root)],
                          first.operation.collective == Collective::send ? "receive" : "send"),
              timeout);
  }
}

/// The ranks of the world that have started fewer collectives.
std::string LibraryCommunicator::late_ranks(std::uint64_t counted) const {
  std::vector<Size> late;
  for (const Size member : members_)
    if (counted > 0 && rank_->region.rank_block(member).started_on_device.load(
                           std::memory_order_seq_cst) < counted)
      late.push_back(member);
  if (late.empty()) return fmt::format("{} did not finish", rank_->name);
  return fmt::format("{} did not come", ranks_text(late));
}

std::string LibraryCommunicator::text_of(Operation operation) const {
  operation.root = members_[place_of_rank(operation.root)];
  return operation_text(operation);
}

void LibraryCommunicator::require_member(Size rank) const {
  ensure(rank >= 0 && rank < world_size(), "the other rank is one of the group");
}

void LibraryCommunicator::require_going(const Operation& operation) {
  const auto by = rank_->region.given_up();
  if (!by) return;
  rank_->is_failed = true;
  if (library_ != nullptr) library_->abort();
  throw run_error(fmt::format("rank {}: {}: rank {} gave up: {}", rank_->rank, text_of(operation),
                              by->rank, by->reason),
                  "see what that rank reported");
}

/// Where a rank that gave up is the cause, it says so soon after its connections end.
void LibraryCommunicator::fail(const Started& started, const std::string& why) {
  constexpr std::chrono::milliseconds kGrace{500};
  const Clock::time_point end = Clock::now() + kGrace;
  while (!rank_->region.given_up() && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  give_up(started, why);
}

void LibraryCommunicator::fail_late(const Started& started, const std::string& who,
                                    Timeout timeout) {
  give_up(started,
          fmt::format("{} within {:g} s", who, std::chrono::duration<double>(timeout).count()));
}

void LibraryCommunicator::give_up(const Started& started, const std::string& why) {
  require_going(started.operation);
  const Error error =
      run_error(fmt::format("rank {}: {}: {}", rank_->rank, text_of(started.operation), why),
                "find out what happened to it, or give a longer --timeout");
  rank_->is_failed = true;
  rank_->region.give_up(rank_->rank, error.what());
  if (library_ != nullptr) library_->abort();
  throw Error(error);
}

std::unique_ptr<Communicator> LibraryCommunicator::split(Size colour, Size key, Timeout timeout) {
  Communicator& host = host_ ? *host_ : *rank_->host;
  std::unique_ptr<Communicator> group = host.split(colour, key, timeout);
  std::vector<Size> members = of_all_ranks(*group, rank_->rank, timeout);
  return std::make_unique<LibraryCommunicator>(rank_, std::move(group), std::move(members));
}

std::unique_ptr<Communicator> make_over_library(std::string engine, EngineSetup setup,
                                                GroupLibraryMaker maker) {
  std::vector<Size> everyone(static_cast<std::size_t>(setup.region.world_size()));
  std::iota(everyone.begin(), everyone.end(), Size{0});
  if (setup.hosts != nullptr) {
    engine = "shm+" + engine;
    maker = by_way_of_leaders(setup, std::move(maker));
  }
  auto rank = std::make_shared<LibraryRank>(std::move(engine), setup.region, setup.rank,
                                            setup.timeout, std::move(setup.host), std::move(maker));
  rank->is_failed = true;  // where it cannot be made
  auto made = std::make_unique<LibraryCommunicator>(rank, nullptr, std::move(everyone));
  rank->is_failed = false;
  return made;
}

}  // namespace ptbench

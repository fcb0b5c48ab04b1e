#include "src/comm/solo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/comm/reduce.h"

namespace ptbench {
namespace {

void await(const Event* event) {
  if (event != nullptr) event->finish();
}

void reduce_bf16_alone(Isa isa, Values values, Reduction reduction) {
  auto* bits = reinterpret_cast<std::uint16_t*>(values.bytes.data());
  const std::array<const std::uint16_t*, 1> source{bits};
  const std::array<std::uint16_t*, 1> destination{bits};
  reduce_bf16_range(isa, {.sources = source, .destinations = destination}, {0, values.count()},
                    reduction.scale);
}

void reduce_floats_alone(Isa isa, Values values, Reduction reduction, ResultType result) {
  auto* floats = reinterpret_cast<float*>(values.bytes.data());
  const std::array<const float*, 1> source{floats};
  const std::array<float*, 1> destination{floats};
  reduce_range(isa, {.sources = source, .destinations = destination}, {0, values.count()},
               reduction, result);
}

}  // namespace

/// The waiter for the ticket also waits for `after`. An event that is recorded again stands for
/// what it was recorded for before.
Communicator::Ticket SoloCommunicator::identity(const Event* after) {
  ++started_;
  if (after == nullptr) return Ticket{started_};
  const auto same = std::ranges::find(pending_, after, &Pending::event);
  if (same != pending_.end())
    same->last = started_;
  else
    pending_.push_back({.first = started_, .last = started_, .event = after});
  return Ticket{started_};
}

/// `travels`: whether the result goes back to others as the values came, in a larger world.
Communicator::Ticket SoloCommunicator::reduce(Values values, Reduction reduction, bool travels,
                                              const Event* after) {
  ensure(values.bytes.size() % bytes_of(values.type) == 0, "values are whole elements");
  const bool is_bf16 = values.type == ElementType::bf16;
  const bool rounds = !is_bf16 && reduction.wire != WireType::fp32;
  if (reduction.scale == 1 && !rounds) return identity(after);
  await(after);
  if (is_bf16)
    reduce_bf16_alone(isa_, values, reduction);
  else
    reduce_floats_alone(isa_, values, reduction, travels ? ResultType::wire : ResultType::fp32);
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_all_reduce(Values values, Reduction reduction,
                                                        const Event* after) {
  return reduce(values, reduction, true, after);
}

Communicator::Ticket SoloCommunicator::start_reduce_scatter(Values values, Reduction reduction,
                                                            const Event* after) {
  return reduce(values, reduction, false, after);
}

Communicator::Ticket SoloCommunicator::start_all_gather(Values /*values*/, const Event* after) {
  return identity(after);
}

Communicator::Ticket SoloCommunicator::start_reduce(Values values, Size root, Reduction reduction,
                                                    const Event* after) {
  ensure(root == 0, "the root of a reduction is a rank of the group");
  return reduce(values, reduction, false, after);
}

Communicator::Ticket SoloCommunicator::start_gather(std::span<const std::byte> part,
                                                    std::span<std::byte> whole, Size root,
                                                    const Event* after) {
  ensure(root == 0, "the root of a gather is a rank of the group");
  ensure(whole.size() == part.size(), "a gather's whole holds every rank's part");
  await(after);
  if (part.data() != whole.data()) std::ranges::copy(part, whole.begin());
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_broadcast(std::span<std::byte> /*bytes*/, Size root,
                                                       const Event* after) {
  ensure(root == 0, "the root of a broadcast is a rank of the group");
  return identity(after);
}

Communicator::Ticket SoloCommunicator::start_send(std::span<const std::byte> bytes, Size to,
                                                  const Event* after) {
  ensure(to == 0, "a message is for a rank of the group");
  await(after);
  return match({.ticket = ++started_, .sent = bytes, .is_send = true});
}

Communicator::Ticket SoloCommunicator::start_receive(std::span<std::byte> bytes, Size from,
                                                     const Event* after) {
  ensure(from == 0, "a message is for a rank of the group");
  await(after);
  return match({.ticket = ++started_, .received = bytes});
}

Communicator::Ticket SoloCommunicator::match(Half half) {
  const Ticket ticket{half.ticket};
  if (halves_.empty() || halves_.front().is_send == half.is_send) {
    halves_.push_back(half);
    return ticket;
  }
  const Half& other = halves_.front();
  const std::span<const std::byte> from = half.is_send ? half.sent : other.sent;
  const std::span<std::byte> to = half.is_send ? other.received : half.received;
  if (from.size() != to.size())
    throw run_error(fmt::format("rank 0: receive of {} bytes from rank 0: {} bytes were sent",
                                to.size(), from.size()),
                    "send and receive as many bytes");
  std::ranges::copy(from, to.begin());
  halves_.erase(halves_.begin());
  return ticket;
}

Communicator::Ticket SoloCommunicator::start_barrier() { return Ticket{++started_}; }

/// Waits for the events of tickets up to this one. Those of later tickets stay.
template <class Await>
void SoloCommunicator::take_pending(Ticket ticket, Await await_event) {
  const auto number = static_cast<std::uint64_t>(ticket);
  std::erase_if(pending_, [&](Pending& pending) {
    if (pending.first > number) return false;
    await_event(*pending.event);
    pending.first = number + 1;
    return pending.last <= number;
  });
}

void SoloCommunicator::wait(Ticket ticket, Timeout /*timeout*/) {
  require_complete(ticket);
  take_pending(ticket, [](const Event& event) { event.finish(); });
}

void SoloCommunicator::order(Queue& queue, Ticket ticket, Timeout /*timeout*/) {
  require_complete(ticket);
  take_pending(ticket, [&](const Event& event) { queue.wait(event); });
}

void SoloCommunicator::require_complete(Ticket ticket) const {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  if (halves_.empty() || halves_.front().ticket > number) return;
  const Half& half = halves_.front();
  throw run_error(fmt::format("rank 0: {} of {} bytes {} rank 0: rank 0 does not {} it",
                              half.is_send ? "send" : "receive",
                              half.is_send ? half.sent.size() : half.received.size(),
                              half.is_send ? "to" : "from", half.is_send ? "receive" : "send"),
                  "start both sides of a message before waiting for one");
}

std::unique_ptr<Communicator> SoloCommunicator::split(Size /*colour*/, Size /*key*/,
                                                      Timeout /*timeout*/) {
  return std::make_unique<SoloCommunicator>(memory_);
}

}  // namespace ptbench

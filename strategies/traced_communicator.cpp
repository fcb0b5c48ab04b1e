#include "strategies/traced_communicator.h"

#include <algorithm>
#include <cstddef>

namespace ptbench {
namespace {

constexpr std::size_t kMostOutstanding = 512;  // more than any communicator allows

CollectiveStart of_values(CollectiveKind kind, const Values& values) {
  return {.kind = kind, .type = values.type, .bytes = values.bytes.size()};
}

CollectiveStart of_bytes(CollectiveKind kind, std::span<const std::byte> bytes) {
  return {.kind = kind, .bytes = bytes.size()};
}

}  // namespace

TracedCommunicator::TracedCommunicator(Communicator& inner, PhaseTimer& timer)
    : PassingCommunicator(inner), timer_(timer) {
  outstanding_.reserve(kMostOutstanding);
}

template <class Start>
Communicator::Ticket TracedCommunicator::start(const CollectiveStart& what, const Start& start) {
  if (!timer_.in_step()) return start();
  timer_.start_collective(what);
  const Ticket ticket = start();
  outstanding_.push_back(ticket);
  return ticket;
}

/// With `ticket` all before it are finished.
void TracedCommunicator::finish(Ticket ticket) {
  if (!timer_.in_step()) return;
  const auto last = std::ranges::find(outstanding_, ticket);
  if (last == outstanding_.end()) return;  // it was finished before
  timer_.finish_collectives(static_cast<std::size_t>(last - outstanding_.begin()) + 1);
  outstanding_.erase(outstanding_.begin(), last + 1);
}

Communicator::Ticket TracedCommunicator::start_all_reduce(Values values, Reduction reduction,
                                                          const Event* after) {
  return start(of_values(CollectiveKind::all_reduce, values),
               [&] { return inner().start_all_reduce(values, reduction, after); });
}

Communicator::Ticket TracedCommunicator::start_reduce_scatter(Values values, Reduction reduction,
                                                              const Event* after) {
  return start(of_values(CollectiveKind::reduce_scatter, values),
               [&] { return inner().start_reduce_scatter(values, reduction, after); });
}

Communicator::Ticket TracedCommunicator::start_all_gather(Values values, const Event* after) {
  return start(of_values(CollectiveKind::all_gather, values),
               [&] { return inner().start_all_gather(values, after); });
}

Communicator::Ticket TracedCommunicator::start_reduce(Values values, Size root, Reduction reduction,
                                                      const Event* after) {
  return start(of_values(CollectiveKind::reduce, values),
               [&] { return inner().start_reduce(values, root, reduction, after); });
}

Communicator::Ticket TracedCommunicator::start_gather(std::span<const std::byte> part,
                                                      std::span<std::byte> whole, Size root,
                                                      const Event* after) {
  return start(of_bytes(CollectiveKind::gather, part),
               [&] { return inner().start_gather(part, whole, root, after); });
}

Communicator::Ticket TracedCommunicator::start_broadcast(std::span<std::byte> bytes, Size root,
                                                         const Event* after) {
  return start(of_bytes(CollectiveKind::broadcast, bytes),
               [&] { return inner().start_broadcast(bytes, root, after); });
}

Communicator::Ticket TracedCommunicator::start_send(std::span<const std::byte> bytes, Size to,
                                                    const Event* after) {
  return start(of_bytes(CollectiveKind::send, bytes),
               [&] { return inner().start_send(bytes, to, after); });
}

Communicator::Ticket TracedCommunicator::start_receive(std::span<std::byte> bytes, Size from,
                                                       const Event* after) {
  return start(of_bytes(CollectiveKind::receive, bytes),
               [&] { return inner().start_receive(bytes, from, after); });
}

Communicator::Ticket TracedCommunicator::start_barrier() {
  return start(of_bytes(CollectiveKind::barrier, {}), [&] { return inner().start_barrier(); });
}

void TracedCommunicator::wait(Ticket ticket, Timeout timeout) {
  inner().wait(ticket, timeout);
  finish(ticket);
}

void TracedCommunicator::order(Queue& queue, Ticket ticket, Timeout timeout) {
  inner().order(queue, ticket, timeout);
  if (timer_.is_by(queue)) finish(ticket);
}

}  // namespace ptbench

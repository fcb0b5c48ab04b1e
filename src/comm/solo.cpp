#include "src/comm/solo.h"

#include "src/base/error.h"

namespace ptbench {

Communicator::Ticket SoloCommunicator::start_all_reduce(std::span<float> /*values*/) {
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_broadcast(std::span<std::byte> /*bytes*/, Size root) {
  ensure(root == 0, "the root of a broadcast is a rank of the group");
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_barrier() { return Ticket{++started_}; }

void SoloCommunicator::wait(Ticket ticket, Timeout /*timeout*/) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
}

}  // namespace ptbench

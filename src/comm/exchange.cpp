#include "src/comm/exchange.h"

namespace ptbench {

void exchange(Communicator& communicator, std::span<const std::byte> own, std::span<std::byte> all,
              Communicator::Timeout timeout) {
  const auto gathered = communicator.rank() == 0 ? all : std::span<std::byte>();
  communicator.wait(communicator.start_gather(own, gathered, 0), timeout);
  communicator.wait(communicator.start_broadcast(all, 0), timeout);
}

Communicator::Ticket start_both_ways(Communicator& communicator, const MessagesBothWays& messages) {
  if (communicator.sends_values() && !communicator.works_on_device()) {
    (void)communicator.start_receive(messages.received, messages.from);
    return communicator.start_send(messages.sent, messages.to);
  }
  (void)communicator.start_send(messages.sent, messages.to);
  return communicator.start_receive(messages.received, messages.from);
}

}  // namespace ptbench

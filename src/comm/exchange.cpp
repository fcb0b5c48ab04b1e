#include "src/comm/exchange.h"

namespace ptbench {

void exchange(Communicator& communicator, std::span<const std::byte> own, std::span<std::byte> all,
              Communicator::Timeout timeout) {
  const auto gathered = communicator.rank() == 0 ? all : std::span<std::byte>();
  communicator.wait(communicator.start_gather(own, gathered, 0), timeout);
  communicator.wait(communicator.start_broadcast(all, 0), timeout);
}

}  // namespace ptbench

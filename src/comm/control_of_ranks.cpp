#include "src/comm/control_of_ranks.h"

#include "src/base/error.h"
#include "src/comm/ranks_apart.h"
#include "src/comm/shm/shared_memory.h"

namespace ptbench {

std::unique_ptr<Communicator> make_control_of(const CommunicatorSetup& setup) {
  ensure(setup.region != nullptr, "ranks of a host share a region");
  if (setup.apart != nullptr) return setup.apart->words->split(0, setup.rank, setup.timeout);
  return SharedMemoryCommunicator(*setup.region, setup.rank).make_control();
}

std::string address_of(const CommunicatorSetup& setup) {
  return setup.apart == nullptr ? std::string() : setup.apart->words->address();
}

}  // namespace ptbench

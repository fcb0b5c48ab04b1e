#include "strategies/dp_workers.h"

#include <exception>

namespace ptbench::dp {

void run_all(std::vector<Lane>& lanes, const PhaseRange& range, FunctionRef<void(Lane&)> job) {
  for (Lane& lane : lanes) {
    if (lane.driver == nullptr) continue;
    lane.range = range;
    lane.job = &job;
    lane.driver->start(lane);
  }
  std::exception_ptr failure;
  for (Lane& lane : lanes) {
    try {
      if (lane.driver == nullptr)
        job(lane);
      else
        lane.driver->wait();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ptbench::dp

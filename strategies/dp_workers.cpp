#include "strategies/dp_workers.h"

#include <exception>

namespace ptbench::dp {

void run_all(std::vector<Worker>& workers, const PhaseRange& range, PhaseTimer* timer,
             FunctionRef<void(Worker&)> job) {
  for (Worker& worker : workers) {
    if (worker.driver == nullptr) continue;
    worker.range = range;
    worker.job = &job;
    worker.driver->start(worker);
  }
  std::exception_ptr failure;
  const auto attempt = [&failure](FunctionRef<void()> work) {
    try {
      work();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  for (Worker& worker : workers)
    if (worker.driver == nullptr) attempt([&] { worker.run(job); });
  {
    const WaitScope waiting(timer);
    for (Worker& worker : workers)
      if (worker.driver != nullptr) attempt([&] { worker.driver->wait(); });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ptbench::dp

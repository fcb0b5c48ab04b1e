#include "strategies/dp_workers.h"

#include <exception>

namespace ptbench::dp {

void run_all(std::vector<Worker>& workers, const PhaseRange& range,
             FunctionRef<void(Worker&)> job) {
  for (Worker& worker : workers) {
    if (worker.driver == nullptr) continue;
    worker.range = range;
    worker.job = &job;
    worker.driver->start(worker);
  }
  std::exception_ptr failure;
  for (Worker& worker : workers) {
    try {
      if (worker.driver == nullptr)
        worker.run(job);
      else
        worker.driver->wait();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ptbench::dp

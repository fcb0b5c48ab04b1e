#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/function_ref.h"
#include "src/device/driver_thread.h"
#include "src/measure/step_phases.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

/// How the replicas of dp work at the same time.
namespace ptbench::dp {

/// A part of the step that all replicas work on: what its range is called on their threads.
struct PhaseRange {
  StepPhase phase{};
  std::uint64_t payload = 0;
};

/// A replica as its master sees it.
struct Worker {
  Program& program;
  ArenaPasses* parameters = nullptr;  ///< over its own, for a replica that gets the master's
  DriverThread* driver = nullptr;     ///< null for replica 0, which the calling thread runs
  PhaseTimer* timer = nullptr;        ///< of the driver's thread, in steps that are traced
  ComputeObserver observer = {};      ///< of what it computes
  std::size_t index = 0;
  PhaseRange range = {};                            ///< of the job
  const FunctionRef<void(Worker&)>* job = nullptr;  ///< that runs
  double end = 0;                                   ///< of the job that was timed last
  ReplicaSeconds seconds = {};                      ///< summed over observed steps

  [[nodiscard]] Queue& queue() const { return program.device().compute(); }
  /// Runs `work` until the device has done it, since other devices use the results.
  void run(FunctionRef<void(Worker&)> work) {
    work(*this);
    program.device().finish();
  }
  /// On the driver's thread.
  void operator()() {
    const PhaseScope scope(timer, range.phase, range.payload);
    run(*job);
  }
};

/// Runs `job` for all replicas at the same time, and returns when all devices have done it: no job
/// waits for another, so that one that fails holds nobody up. Throws what the first of them threw.
/// `timer`: of the calling thread, may be null.
void run_all(std::vector<Worker>& workers, const PhaseRange& range, PhaseTimer* timer,
             FunctionRef<void(Worker&)> job);

}  // namespace ptbench::dp

#pragma once

#include <chrono>
#include <memory>

#include "src/comm/communicator.h"
#include "src/device/memory.h"
#include "strategies/strategy.h"

namespace ptbench {

/// How the ranks of a training agree on its steps: how many there are depends on clocks and
/// signals, which only rank 0 looks at. Before each of its steps it tells the others to make one
/// too, and at the end that there are no more.
class Conductor {
 public:
  /// All ranks make one, in the same order among their allocations. `timeout` bounds how long the
  /// others wait for the next step. The communicator outlives it.
  Conductor(Communicator& communicator, Communicator::Timeout timeout);

  [[nodiscard]] bool leads() const { return communicator_.rank() == 0; }

  /// On rank 0: from now on each step of `strategy` is told to the others first. The conductor
  /// outlives the strategy's steps.
  void lead(Strategy& strategy);
  /// Rank 0's answer, on all ranks. Waits for rank 0 as long as work by itself may take.
  [[nodiscard]] bool agree(bool answer);
  /// On rank 0: there are no more steps.
  void stop() { (void)tell(0, timeout_); }
  /// On the others: makes the steps that rank 0 makes.
  void follow(Strategy& strategy);

 private:
  /// Rank 0's word reaches all.
  [[nodiscard]] float tell(float word, Communicator::Timeout timeout);

  Communicator& communicator_;
  Communicator::Timeout timeout_;
  Buffer word_;
};

}  // namespace ptbench

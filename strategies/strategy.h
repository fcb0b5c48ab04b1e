#pragma once

#include <memory>
#include <vector>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "strategies/replica.h"

namespace ptbench {

/// How one optimizer step over a global batch is spread over devices and processes.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// One optimizer step over the next global batch, data to update. Returns the global batch's mean
  /// loss, as of before the update. Allocates nothing.
  virtual float step() = 0;
  /// Optimizer steps so far.
  [[nodiscard]] virtual Size steps() const = 0;
  /// The replica of this process whose parameters count.
  [[nodiscard]] virtual Replica& replica() = 0;
};

/// What a strategy is built over; everything outlives it.
struct StrategyContext {
  std::vector<std::unique_ptr<Replica>> replicas;  ///< this process's, with data attached
  Communicator& communicator;
};

}  // namespace ptbench

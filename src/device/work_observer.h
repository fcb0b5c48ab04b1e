#pragma once

#include "src/device/queue.h"

namespace ptbench {

/// Recorded before and behind a piece of work, in the queue that does it. Null: nobody asks.
struct WorkEvents {
  Event* begin = nullptr;
  Event* end = nullptr;
};

/// Somebody who asks when pieces of work are done that others give to queues of a device.
class WorkObserver {
 public:
  virtual ~WorkObserver() = default;
  /// Of the next piece: events of the device, with clocks.
  [[nodiscard]] virtual WorkEvents next() = 0;
};

}  // namespace ptbench

#include "src/device/queue.h"

#include "src/base/error.h"

namespace ptbench {

std::unique_ptr<Recording> Queue::keep(FunctionRef<void()> /*work*/) {
  throw Defect("only queues that can record are asked to keep work");
}

}  // namespace ptbench

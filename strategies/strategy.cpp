#include "strategies/strategy.h"

#include <utility>

#include "src/base/error.h"

namespace ptbench {

std::unique_ptr<Replica> StrategyContext::take_replica() {
  ensure(replicas.size() == 1, "a rank of this strategy has one replica");
  return std::move(replicas.front());
}

}  // namespace ptbench

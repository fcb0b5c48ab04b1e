#include "src/measure/run_id.h"

#include <fmt/format.h>

namespace ptbench {

std::string run_id(const RunKey& key, std::span<const OptionValue> others) {
  std::string id = fmt::format("{}/{}/n{}/b{}/{}", key.workload, key.strategy, key.world_size,
                               key.batch_per_replica, key.precision);
  for (const OptionValue& other : others) id += fmt::format("/{}={}", other.option, other.value);
  return id;
}

}  // namespace ptbench

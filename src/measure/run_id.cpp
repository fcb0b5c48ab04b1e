#include "src/measure/run_id.h"

#include <fmt/format.h>

namespace ptbench {

std::string run_id(const RunKey& key, std::span<const OptionValue> others) {
  std::string id = fmt::format("{}/{}", key.workload, key.strategy);
  if (key.world_size > 0) id += fmt::format("/n{}", key.world_size);
  if (key.batch_per_replica > 0) id += fmt::format("/b{}", key.batch_per_replica);
  id += fmt::format("/{}", key.precision);
  for (const OptionValue& other : others) id += fmt::format("/{}={}", other.option, other.value);
  return id;
}

}  // namespace ptbench

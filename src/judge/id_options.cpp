#include "src/judge/id_options.h"

#include <string_view>

#include "src/measure/run_id.h"

namespace ptbench {

std::string options_in_id(const RunRecord& run) {
  const StrategyRecord& strategy = run.strategy;
  const std::string key = run_id({.workload = run.workload.name,
                                  .strategy = strategy.name,
                                  .world_size = strategy.world_size,
                                  .batch_per_replica = strategy.batch_per_replica.value_or(0),
                                  .precision = strategy.precision});
  std::string options = run.id.starts_with(key) ? run.id.substr(key.size()) : run.id;
  constexpr std::string_view kThreads = "/threads=";
  if (const std::size_t begin = options.find(kThreads); begin != std::string::npos)
    options.erase(begin, options.find('/', begin + 1) - begin);
  return options;
}

}  // namespace ptbench

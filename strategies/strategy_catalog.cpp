#include "strategies/strategy_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "strategies/ddp.h"
#include "strategies/dp.h"
#include "strategies/serial.h"

namespace ptbench {

std::unique_ptr<Strategy> build_over(const StrategyRow& row, std::unique_ptr<Replica> replica,
                                     std::unique_ptr<BatchLoader> batches,
                                     StrategyContext context) {
  if (row.one_process)
    context.group.loader = std::move(batches);
  else
    replica->attach(std::move(batches));
  context.replicas.push_back(std::move(replica));
  return row.build(std::move(context));
}

std::vector<StrategyRow> strategy_catalog() {
  return {serial_strategy(),      dp_strategy(),         ddp_strategy(), ddp_flat_strategy(),
          ddp_central_strategy(), grad_accum_strategy(), amp_strategy()};
}

StrategyRow find_strategy(std::string_view name, const std::vector<StrategyRow>& catalog) {
  std::vector<std::string> names;
  for (const StrategyRow& row : catalog) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw usage_error(
      fmt::format("unknown strategy '{}'{}{}", printable(name), guess.empty() ? "" : ": ", guess),
      fmt::format("choose one of: {}", fmt::join(names, ", ")));
}

}  // namespace ptbench

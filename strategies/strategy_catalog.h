#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/strategy.h"

namespace ptbench {

/// A row of the strategy catalog.
struct StrategyRow {
  std::string name;
  std::string summary;           ///< one line for `ptbench list`
  bool several_ranks = false;    ///< takes --nproc above 1
  bool one_process = false;      ///< and these are replicas of one process, not processes
  bool buckets = false;          ///< reduces gradients in buckets, with overlap or without
  Size accumulation_steps = 1;   ///< unless --accumulate is given
  bool mixed_precision = false;  ///< the device's best narrow type, unless --precision is given
  bool records_steps = false;    ///< where the device can: a step is one graph
  /// Its steps are Replica::make_step's, which can do with one operator's gradients at a time.
  bool lets_gradients_pass = false;
  std::function<std::unique_ptr<Strategy>(StrategyContext context)> build;
};

/// The row's strategy over `replica`, whose weights stay as they are, and what `context` has
/// beside it. `batches` are the replica's, or of all replicas of the process where these are the
/// ranks.
[[nodiscard]] std::unique_ptr<Strategy> build_over(const StrategyRow& row,
                                                   std::unique_ptr<Replica> replica,
                                                   std::unique_ptr<BatchLoader> batches,
                                                   StrategyContext context);

/// All strategies, in the order in which they are listed. To add one: a file beside serial.cpp and
/// a row in strategy_catalog.cpp.
[[nodiscard]] std::vector<StrategyRow> strategy_catalog();

/// Throws a usage error with a suggestion for a name that is not in the catalog.
[[nodiscard]] StrategyRow find_strategy(
    std::string_view name, const std::vector<StrategyRow>& catalog = strategy_catalog());

}  // namespace ptbench

#pragma once

#include "strategies/strategy_catalog.h"

namespace ptbench {

/// One replica, one process: what every other strategy must compute the same as.
[[nodiscard]] StrategyRow serial_strategy();

/// `serial` with 4 micro-batches in a step, unless --accumulate says otherwise.
[[nodiscard]] StrategyRow grad_accum_strategy();

/// `serial` in the best narrow type of the device, unless --precision says otherwise.
[[nodiscard]] StrategyRow amp_strategy();

}  // namespace ptbench

#pragma once

#include "strategies/catalog.h"

namespace ptbench {

/// One replica, one process: what every other strategy must compute the same as.
[[nodiscard]] StrategyRow serial_strategy();

}  // namespace ptbench

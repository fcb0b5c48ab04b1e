#pragma once

#include "strategies/strategy_catalog.h"

namespace ptbench {

// Data-parallel strategies over several ranks: one replica each, equal parameters after each step.

/// Gradients are reduced in buckets as backward finishes them; each rank updates its part of every
/// bucket, and the parts are gathered.
[[nodiscard]] StrategyRow ddp_strategy();

/// One all-reduce of all gradients after backward; every rank updates everything.
[[nodiscard]] StrategyRow ddp_flat_strategy();

/// Gradients are reduced to rank 0, which updates everything and broadcasts the parameters.
[[nodiscard]] StrategyRow ddp_central_strategy();

}  // namespace ptbench

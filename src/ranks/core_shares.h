#pragma once

#include <vector>

#include "src/ranks/rank_card.h"

namespace ptbench {

/// The share of each rank, from the cores of all. Ranks on different hosts have no core in common.
[[nodiscard]] std::vector<CoreShare> shares_of(const std::vector<RankCard>& cards);

}  // namespace ptbench

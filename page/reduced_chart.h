#pragma once

#include <cstddef>
#include <vector>

#include "charts/chart.h"

namespace ptbench {

/// The charts as a page can carry them, however many runs they are of: of a series of too many
/// values the smallest and largest of each stretch, of too many categories or series the first.
/// What was left out stands in the caption. Charts beyond `most_charts` are left out.
[[nodiscard]] std::vector<Chart> reduced_charts(std::vector<Chart> charts,
                                                std::size_t most_charts = 40);

}  // namespace ptbench

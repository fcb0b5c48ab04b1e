#pragma once

#include <cstddef>
#include <vector>

#include "charts/chart.h"

namespace ptbench {

/// The charts as a page can carry them, however many runs they are of: of a series of too many
/// values the smallest and largest of each stretch, of too many categories or series the first.
/// What was left out stands in the caption. Of more than `most_charts` charts the first of each
/// kind stay (kinds by their names: "speedup-2" is a speedup), in their order.
[[nodiscard]] std::vector<Chart> reduced_charts(std::vector<Chart> charts,
                                                std::size_t most_charts = 24);

}  // namespace ptbench

#pragma once

#include "app/config/configuration.h"
#include "src/data/dataset.h"

namespace ptbench {

/// The data that a run trains on. Throws usage errors for data that do not fit its workload, or the
/// memory.
[[nodiscard]] DataSource load_data(const RunConfig& config);

}  // namespace ptbench

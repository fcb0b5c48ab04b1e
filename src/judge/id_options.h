#pragma once

#include <string>

#include "src/measure/record.h"

namespace ptbench {

/// The options in a run's id, "/communicator=gloo/…", in an order that is always the same, but for
/// its threads, which are those of the baseline: equal for runs that differ in their ranks alone.
[[nodiscard]] std::string options_in_id(const RunRecord& run);

}  // namespace ptbench

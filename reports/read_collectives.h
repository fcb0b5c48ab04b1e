#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/measure/collective_record.h"

namespace ptbench {

/// What `ptbench comm --json` printed, an array with an object for each collective and size; keys
/// that are not known are passed over. `name` is what error messages call it. Usage errors: no such
/// array, a key that is missing or of the wrong type, a time or size below 0.
[[nodiscard]] std::vector<CollectiveRecord> read_collectives(const nlohmann::json& document,
                                                             const std::string& name);

}  // namespace ptbench

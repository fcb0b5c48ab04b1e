#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/measure/record.h"

namespace ptbench {

/// The file as JSON, schema ptbench.result/2: UTF-8 whatever the names hold, null for what is not
/// known or not finite, doubles that read back exactly; ends with a newline.
[[nodiscard]] std::string to_json(const ResultFile& file);

/// A run as it stands in such a file. Texts are as the record has them: not all need be UTF-8.
[[nodiscard]] nlohmann::ordered_json run_json(const RunRecord& run);

}  // namespace ptbench

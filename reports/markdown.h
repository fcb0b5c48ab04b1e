#pragma once

#include <string>

#include "src/measure/record.h"

namespace ptbench {

/// A report for a wiki or a pull request: the conclusion, a table of the runs and what its columns
/// mean, what was lost in scaling, what was not measured, warnings with their remedies, the
/// environment, and the command that measured. What came from outside is escaped.
[[nodiscard]] std::string to_markdown(const ResultFile& file);

}  // namespace ptbench

#pragma once

#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// What the runs of a file say of scaling, a line each without its end: for each strategy that was
/// measured on several ranks, what its largest run lost, to what most of all and what to try; then
/// the serial fraction, where enough runs tell it. Empty where no run has a scaling.
[[nodiscard]] std::vector<std::string> scaling_lines(const ResultFile& file);

/// "90.0 ± 1.3 %", the half width of its 95 % interval in points; "90.0 %" without one, empty where
/// it is not known.
[[nodiscard]] std::string efficiency_text(const RunRecord& run);

}  // namespace ptbench

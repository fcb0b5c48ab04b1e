#pragma once

#include <string>

#include "reports/console.h"
#include "src/measure/record.h"

namespace ptbench {

/// A table for people, one line a run, in `style.columns` columns: what distinguishes the runs, how
/// fast they were and how steadily. Less important columns are left out where it would be too wide,
/// and long ids move to lines of their own. Below it: what its columns mean, what was lost in
/// scaling, runs that are not all right with their reason, warnings, one a cause with how many runs
/// it concerns, and at last the conclusion.
[[nodiscard]] std::string sweep_console(const ResultFile& file, const ConsoleStyle& style = {});

}  // namespace ptbench

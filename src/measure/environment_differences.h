#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// What makes step times of two sides incomparable: model and number of cores, names of devices,
/// versions of libraries, as "cpu.model A / B". Every file is held against the first of BASE; where
/// a file of BASE itself differs, "(both in BASE)" is added. What one of the two does not know is
/// no difference, nor are host name, operating system, variables and the program's commit. Single
/// lines without control characters.
[[nodiscard]] std::vector<std::string> environment_differences(std::span<const ResultFile> base,
                                                               std::span<const ResultFile> fresh);

/// The same of one run's circumstances: plan, threads, precision and devices. Neither side is
/// empty, and pointers are not null.
[[nodiscard]] std::vector<std::string> run_differences(std::span<const RunRecord* const> base,
                                                       std::span<const RunRecord* const> fresh);

}  // namespace ptbench

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

/// The differences in one run's circumstances: plan, threads, hosts and devices. Neither side is
/// empty, and pointers are not null.
[[nodiscard]] std::vector<std::string> run_differences(std::span<const RunRecord* const> base,
                                                       std::span<const RunRecord* const> fresh);

/// The differences in the work that was measured, which no option lets compare make light of:
/// digest, parameters and input of the workload, optimizer, precision, batches, accumulation and
/// data, as "optimizer.momentum 0.9 / 0".
[[nodiscard]] std::vector<std::string> work_differences(std::span<const RunRecord* const> base,
                                                        std::span<const RunRecord* const> fresh);

/// What should be known of two sides, and takes no verdict away, since gates are tested with it: a
/// build type other than Release, as "build_type Release / Debug". One text, or none.
[[nodiscard]] std::vector<std::string> build_remarks(std::span<const ResultFile> base,
                                                     std::span<const ResultFile> fresh);

/// How one run's sides differ in steps that were made longer on purpose, as "slowdown none /
/// 5.00 %". A side may be empty.
[[nodiscard]] std::vector<std::string> run_remarks(std::span<const RunRecord* const> base,
                                                   std::span<const RunRecord* const> fresh);

}  // namespace ptbench

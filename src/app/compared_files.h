#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// `paths` with each folder replaced by the .json files in it, sorted. A usage error for a folder
/// that cannot be read or has none.
[[nodiscard]] std::vector<std::string> result_paths(const std::vector<std::string>& paths);

/// Throws a usage error where two of `paths` are one file, links followed: its repetitions would
/// count twice.
void refuse_results_named_twice(const std::vector<std::string>& paths);

/// The results in these files. A usage error for one that cannot be read, and where two files hold
/// the same record: equal in time, host, command and repetitions. A record that does not know when
/// it was made is like no other.
[[nodiscard]] std::vector<ResultFile> read_results(std::span<const std::string> paths);

}  // namespace ptbench

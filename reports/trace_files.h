#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// Where a rank's trace lies in the folder of --trace: "DIR/rank0.json".
[[nodiscard]] std::string trace_path(const std::filesystem::path& folder, Size rank);

/// Makes the folder where it is absent, and those above it. Usage errors: it cannot be made, is no
/// folder, or holds traces of ranks beyond `ranks`, which readers would take for a part of this
/// run.
void make_trace_folder(const std::filesystem::path& folder, Size ranks);

/// The traces in a folder: its files *.json, by name. Usage errors: no such folder, or none in it.
[[nodiscard]] std::vector<std::string> traces_in(const std::filesystem::path& folder);

/// Where trace-merge writes unless it is told: beside the folder, since what lies in the folder is
/// taken for a rank's.
[[nodiscard]] std::string merged_path(const std::filesystem::path& folder);

}  // namespace ptbench

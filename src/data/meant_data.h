#pragma once

#include <filesystem>
#include <string>

#include "src/base/function_ref.h"

namespace ptbench {

/// The remedy for a directory that holds no data by its names, but has data one or two folders
/// below, or data under other names that people know them by: a --data that works, or a command
/// that gives the files their names. Empty where nothing there looks like data. `holds_data` says
/// of a directory whether data would be found there.
[[nodiscard]] std::string meant_data(const std::filesystem::path& directory,
                                     FunctionRef<bool(const std::filesystem::path&)> holds_data);

}  // namespace ptbench

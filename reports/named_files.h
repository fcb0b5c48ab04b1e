#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "reports/console.h"

namespace ptbench {

/// The file that `path` leads to, links followed, however it is spelled.
[[nodiscard]] std::string whole_path(const std::string& path);

/// Throws a usage error where two of `paths` are one file: each would overwrite the other's work.
/// "-" is no file.
void refuse_files_named_twice(const std::vector<std::string>& paths);

/// For a terminal as wide as it is, with colour unless NO_COLOR is set; for anything else 100
/// columns without colour.
[[nodiscard]] ConsoleStyle console_style(std::FILE* stream);

}  // namespace ptbench

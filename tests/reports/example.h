#pragma once

#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench::testing {

/// A file with one run of which everything is known that a single process can measure.
[[nodiscard]] ResultFile example_file();

/// The same file with this run in place of its own.
[[nodiscard]] ResultFile file_of(const RunRecord& run);

/// A run of which every field is known, the ones of parallel strategies too; names are hostile:
/// control characters, quotes, separators, bytes that are not UTF-8.
[[nodiscard]] RunRecord full_run();

/// A run of which nothing is known but its name.
[[nodiscard]] RunRecord bare_run(Status status, const std::string& reason);

/// The text of tests/reports/golden/NAME.
[[nodiscard]] std::string golden(const std::string& name);

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

}  // namespace ptbench::testing

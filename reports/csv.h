#pragma once

#include <string>

#include "src/measure/record.h"

namespace ptbench {

/// One row a run under a header that is the same for every file: host, cpu, commit, created,
/// clean_repetitions, unknown_repetitions, warnings (their codes, blanks between), and the field
/// table's paths. Quoted as in RFC 4180, lines end with a line feed. What is not known is an empty
/// cell; control characters of names are written as \xNN, so that a row is a line.
[[nodiscard]] std::string to_csv(const ResultFile& file);

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <string>

#include "reports/table.h"
#include "src/measure/record.h"

namespace ptbench {

struct ConsoleStyle {
  bool colour = false;  ///< ANSI sequences; for terminals only
  std::size_t columns = kUsualColumns;
};

/// A summary for people, a dozen lines a run: what ran on what, how fast and how steadily, whether
/// one may rely on that, how near to the machine's peak, what was learnt, and warnings, one a
/// cause, with their remedies. A run that failed or
/// was skipped shows its reason and no throughput.
[[nodiscard]] std::string to_console(const ResultFile& file, const ConsoleStyle& style = {});

}  // namespace ptbench

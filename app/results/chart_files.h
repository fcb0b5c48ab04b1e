#pragma once

#include <string>
#include <vector>

#include "charts/chart_source.h"
#include "src/measure/collective_record.h"
#include "src/measure/record.h"

namespace ptbench {

/// What charts are made of, as files have it.
struct ChartFiles {
  std::vector<ResultFile> results;
  std::vector<ResultFile> history;
  std::vector<CollectiveRecord> collectives;

  /// Looks at this object.
  [[nodiscard]] ChartSource source() const;
};

/// Reads results, histories of `compare` (.jsonl: the newest 200 entries), and what `comm --json`
/// printed, told by how a file begins; of a folder the .json files. Usage errors: a file that
/// cannot be read or is none of them, one that is named twice, and two of the same record.
[[nodiscard]] ChartFiles read_chart_files(const std::vector<std::string>& paths);

}  // namespace ptbench

#pragma once

#include <span>
#include <string>

#include "src/judge/comparison.h"
#include "src/measure/collective_record.h"
#include "src/measure/record.h"

namespace ptbench {

/// What charts are made of. The records outlive it.
struct ChartSource {
  std::span<const ResultFile> results;
  std::span<const ResultFile> history;  ///< further results, that tell only of change in time
  std::span<const CollectiveRecord> collectives;
  /// What each of `results` is called as a side of a comparison, "BASE" or "NEW"; empty: they are
  /// told apart by what differs.
  std::span<const std::string> sides;
  const Comparison* comparison = nullptr;  ///< of the sides; null: nothing was compared
};

}  // namespace ptbench

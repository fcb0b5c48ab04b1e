#pragma once

#include <span>

#include "src/measure/collective_record.h"
#include "src/measure/record.h"

namespace ptbench {

/// What charts are made of. The records outlive it.
struct ChartSource {
  // NOLINTBEGIN(readability-redundant-member-init): or GCC warns of designated ones
  std::span<const ResultFile> results = {};
  std::span<const ResultFile> history = {};  ///< further results, that tell only of change in time
  std::span<const CollectiveRecord> collectives = {};
  // NOLINTEND(readability-redundant-member-init)
};

}  // namespace ptbench

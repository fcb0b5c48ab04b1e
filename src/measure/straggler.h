#pragma once

#include <optional>
#include <string>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// A rank that keeps the others waiting.
struct Straggler {
  Size rank = 0;
  double share = 0;  ///< by which it computes longer than the median of the others
};
/// The slowest rank, if it computes over 5 % longer than the median of the others. None of a
/// program that tells no communication: its ranks wait for each other within what it calls
/// computing.
[[nodiscard]] std::optional<Straggler> find_straggler(const RunRecord& run);
/// The options that make `rank` compute longer than others on purpose, as the run's id tells:
/// "--shares", "--slow-rank", or "--shares and --slow-rank"; empty: none.
[[nodiscard]] std::string slowing_options(const RunRecord& run, Size rank);
/// Whether the run's threads outnumber the cores, as its warnings tell.
[[nodiscard]] bool shares_cores(const RunRecord& run);
/// Sets or removes the warning "straggler". Where ranks share cores, another warning says so, and
/// one rank is only named if it is slow on purpose.
void add_straggler_warning(RunRecord& run);

}  // namespace ptbench

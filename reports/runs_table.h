#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/table.h"
#include "src/measure/record.h"

namespace ptbench {

/// A column of a table of runs, as text, a cell a run; an empty cell is not known.
struct TextColumn {
  std::string heading;
  std::vector<std::string> cells;
  bool is_right = false;
  std::string meaning;  ///< of the heading; empty: it says itself
};

/// What tells runs apart: workload, strategy, n, batch, precision, hosts where a run is on several,
/// then a column for each option that is in the id of any run but a skipped one.
[[nodiscard]] std::vector<TextColumn> identity_columns(const ResultFile& file);

/// Whether not all runs have the same there.
[[nodiscard]] bool varies(const TextColumn& column);

/// What all runs have in common: "serial, n 1, fp32, threads 2". `identity`: of `identity_columns`.
[[nodiscard]] std::string common_text(const std::vector<TextColumn>& identity);

/// Figures leave a table that is too wide one by one; so many are left out at most, for
/// throughput stays.
inline constexpr int kMostLeftOut = 13;
/// The most that leave a table in which each row has the values of `identity_columns`: before more
/// do, a row has a number in their place.
inline constexpr int kMostLeftOutBesideIds = 8;

/// How fast the runs were and how steadily: the figures that any of them has, without those
/// `left_out` that leave first.
[[nodiscard]] std::vector<TextColumn> figure_columns(const ResultFile& file, int left_out = 0);

/// The columns, at least one, as a table.
[[nodiscard]] Table runs_table(const std::vector<TextColumn>& columns);

/// "speedup: times serial's throughput; efficiency: …": what the headings mean, those that do not
/// say it themselves.
[[nodiscard]] std::string meanings_text(const std::vector<TextColumn>& columns);

}  // namespace ptbench

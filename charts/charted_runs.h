#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "charts/chart.h"
#include "charts/chart_source.h"
#include "src/base/size.h"
#include "src/measure/record.h"
#include "src/measure/reliability.h"

namespace ptbench {

/// A run that was measured, in the file that it stands in, which outlives it.
struct ChartedRun {
  const RunRecord* run = nullptr;
  const ResultFile* file = nullptr;
  Reliability reliability;
  /// What tells its file from the others: host, commit, time; may be empty.
  std::string source;

  [[nodiscard]] bool is_trusted() const { return reliability.is_reliable(); }
};

/// The first letters of the commit of the program that measured; empty where it is not known.
[[nodiscard]] std::string short_commit(const ResultFile& file);

/// The runs of the source's results that are ok or interrupted and have a throughput, in their
/// order. Where they come from is the side of a comparison, or the host where hosts differ and the
/// commit where commits differ; and the time where two files would otherwise hold the same run.
[[nodiscard]] std::vector<ChartedRun> measured_runs(const ChartSource& source);

/// Runs of equal key together, in the order in which keys appear.
[[nodiscard]] std::vector<std::vector<ChartedRun>> grouped(
    std::span<const ChartedRun> runs, const std::function<std::string(const ChartedRun&)>& key);

/// What may tell a run from others: what each word is about, and the word; the strategy first.
using Traits = std::vector<std::pair<std::string, std::string>>;

/// Which of a run's numbers are not among its traits, as they lie along an axis.
enum class Along { nothing, ranks, batch };
[[nodiscard]] Traits traits_of(const ChartedRun& charted, Along along);

/// Equal for runs with equal traits.
[[nodiscard]] std::string key_of(const ChartedRun& charted, Along along);

/// What a series with this run shows: its strategy, with options, engine and source, on however
/// many ranks and threads and with whichever batch. See `Series::thing`.
[[nodiscard]] std::string thing_of(const ChartedRun& charted);

/// Names for things of these traits: the first trait of each, and those in which any two differ.
/// The threads that more than half of them have go without saying.
[[nodiscard]] std::vector<std::string> names_of(std::span<const Traits> all);

/// Runs that have one series.
struct RunSeries {
  std::string name;
  std::string thing;
  std::vector<ChartedRun> runs;  ///< in the order in which they appear
};
[[nodiscard]] std::vector<RunSeries> series_of(std::span<const ChartedRun> runs, Along along);

/// The fewest ranks first; those of as many in the order in which they come.
[[nodiscard]] std::vector<ChartedRun> by_ranks(std::vector<ChartedRun> runs);

/// "mlp in fp32".
[[nodiscard]] std::string subject_of(const RunRecord& run);

/// "4 to 5 clean repetitions each; vm, Some Maker CPU": what a chart of these runs rests on.
[[nodiscard]] std::string basis_of(std::span<const ChartedRun> runs);

/// "11.8 k samples/s, 4 of 5 repetitions clean".
[[nodiscard]] std::string note_of(const ChartedRun& charted);

/// Whether values from `low` to `high` (positive) span so much that equal ratios need equal room.
[[nodiscard]] bool spans_much(double low, double high);

/// Makes the lines of `chart` bars where they have points at two places or fewer: a line would
/// cross an empty width. Both axes are linear then, and the upright one begins at 0.
void draw_few_places_as_bars(Chart& chart);

/// `chart` as charts of at most `most` lines and point series each, with its ideal and reference
/// lines in all of them.
[[nodiscard]] std::vector<Chart> in_parts(Chart chart, std::size_t most = 12);

/// A chart of bars as charts of at most `most` categories each.
[[nodiscard]] std::vector<Chart> in_parts_of_bars(Chart chart, std::size_t most = 24);

}  // namespace ptbench

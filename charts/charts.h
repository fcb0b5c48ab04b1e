#pragma once

#include <vector>

#include "charts/chart.h"
#include "charts/chart_source.h"

namespace ptbench {

// What makes each row of the catalog. Runs count that were measured: ok, or interrupted after they
// had a figure. Points of equal place in several files are told apart by host, commit or time.

/// Throughput over the serial baseline's, against ranks: a chart for each workload, precision and
/// scaling mode, a series for each strategy (and whatever else differs), with the ideal line, and
/// serial training on all cores as a reference.
[[nodiscard]] std::vector<Chart> speedup_charts(const ChartSource& source);

/// Speedup over ranks, in percent, in the same charts. Serial training on all cores is a point
/// where as many ranks would use as many threads.
[[nodiscard]] std::vector<Chart> efficiency_charts(const ChartSource& source);

/// Where the efficiency went: what was reached and `scaling.loss`, in percent, stacked, for each
/// strategy and number of ranks.
[[nodiscard]] std::vector<Chart> scaling_loss_charts(const ChartSource& source);

/// How a step's time changes from BASE to NEW in each pair of processes that took turns, and in all
/// of them with the interval that was judged: a chart for each run of a comparison with pairs.
[[nodiscard]] std::vector<Chart> pair_charts(const ChartSource& source);

/// Phases of a step in milliseconds, stacked, for each strategy and number of ranks.
[[nodiscard]] std::vector<Chart> phase_charts(const ChartSource& source);

/// Throughput against the samples in a replica's micro-batch, where a series has two or more.
[[nodiscard]] std::vector<Chart> throughput_charts(const ChartSource& source);

/// Steps of a run in the order in which they were made, in milliseconds, against the time measured
/// until then: by placement and cleanness of their slices, with the slices' medians. The fastest
/// run of each strategy, and kMostStepCharts at most.
inline constexpr std::size_t kMostStepCharts = 8;
[[nodiscard]] std::vector<Chart> step_time_charts(const ChartSource& source);

/// Throughput of the same runs in records of different times, over that of the first of them.
[[nodiscard]] std::vector<Chart> history_charts(const ChartSource& source);

/// Algorithm bandwidth against size, a chart for each collective, a series for each communicator
/// and number of ranks; and what the shortest time of all would allow at each size.
[[nodiscard]] std::vector<Chart> collective_charts(const ChartSource& source);

}  // namespace ptbench

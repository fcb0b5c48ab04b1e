#pragma once

#include <span>
#include <string>

#include "exports/exported_runs.h"

namespace ptbench {

// The formats of the catalog: pure functions of results, each in a file of its own. Values that are
// not known are left out, never 0 and never no number; texts are UTF-8 whatever the names hold.
// What a format asks of the results together is in its catalog row, and is seen to before.

/// Google Benchmark's JSON, schema version 1, of one machine: an entry a repetition
/// (`run_type` iteration), then mean, median and stddev over them. Times are wall-clock nanoseconds
/// of a step, `cpu_time` repeats `real_time`. Runs without figures are entries with
/// `error_occurred` or `skipped`, whose times are 0 in seconds, so that readers that compare equal
/// units alone pass them over.
[[nodiscard]] std::string gbench_export(std::span<const NamedResult> results);

/// github-action-benchmark's `customBiggerIsBetter`: throughput in samples/s and scaling
/// efficiency.
[[nodiscard]] std::string gha_bigger_export(std::span<const NamedResult> results);
/// `customSmallerIsBetter`: the median step in ms and peak memory in MiB, always in these units,
/// since values are compared without them.
[[nodiscard]] std::string gha_smaller_export(std::span<const NamedResult> results);

/// Bencher Metric Format: `latency` (ns of a median step) and `throughput` (samples/s), with the
/// ends of their 95 % intervals, `peak-memory` (bytes) and `scaling-efficiency`.
[[nodiscard]] std::string bmf_export(std::span<const NamedResult> results);

/// hyperfine's `--export-json`: `times` are seconds of a step, the repetitions' medians, or the
/// samples where fewer than two repetitions are known; statistics are of `times`. `parameters` are
/// those of the configuration that differ between the runs.
[[nodiscard]] std::string hyperfine_export(std::span<const NamedResult> results);

/// A table for people, in GitHub's Markdown.
[[nodiscard]] std::string markdown_export(std::span<const NamedResult> results);

/// A line a run: `file`, `host`, `cpu`, `version`, `commit`, `created`, then the run as in
/// ptbench.result/2.
[[nodiscard]] std::string jsonl_export(std::span<const NamedResult> results);

/// JUnit XML: a suite a file, a test case a run; runs that failed or did not match serial training
/// are failures.
[[nodiscard]] std::string junit_export(std::span<const NamedResult> results);

/// Lines in the style of MLPerf's logs (MLLOG); no claim to comply with its rules.
[[nodiscard]] std::string mlperf_export(std::span<const NamedResult> results);

}  // namespace ptbench

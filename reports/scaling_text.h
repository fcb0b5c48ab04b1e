#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// What the runs of a file say of scaling, a line each without its end. First, where serial
/// training on all cores is the fastest run of a workload (`ranking_of`), and told from the fastest
/// on several ranks, that; then for each strategy that was measured on several ranks, what its
/// largest run lost, to what most of all and what to try, and the serial fraction, where enough
/// runs tell it. Fewer than 3 clean repetitions of a run, or of what it is compared with, tell none
/// of these. Empty where no run has a scaling.
[[nodiscard]] std::vector<std::string> scaling_lines(const ResultFile& file);

/// The run of that id; null where there is none, and without an id.
[[nodiscard]] const RunRecord* find_run(const ResultFile& file,
                                        const std::optional<std::string>& id);

/// The fewest clean repetitions of both sides of a ratio; 0 where `other` is null.
[[nodiscard]] Size fewest_clean(const RunRecord& run, const RunRecord* other);

/// What a run with a scaling lost: "28.3 % lost, most of all to communication (10.3 %): try …", or
/// why that cannot be told. `baseline`: what it is compared with; null: not known. Empty without a
/// scaling.
[[nodiscard]] std::string lost_text(const RunRecord& run, const RunRecord* baseline);
/// "communication: 10.3 %": what most was lost to, in shares of the step. Empty where that cannot
/// be told.
[[nodiscard]] std::string largest_loss_text(const RunRecord& run, const RunRecord* baseline);

/// "all 5 rounds", "3 clean rounds": what speedup, efficiency and loss of the run rest on, where
/// that is not what its throughput, or its baseline's, rests on. Empty where they are of the same
/// repetitions; where `baseline` is null, it is not looked at.
[[nodiscard]] std::string rounds_text(const RunRecord& run, const RunRecord* baseline);

/// "1.74"; "0.85 to 3.56" where it is not known well (`IntervalForm`), empty where it is not known.
[[nodiscard]] std::string speedup_text(const RunRecord& run);
/// "90.0 ± 1.3 %", as `share_with_interval` tells its 95 % interval; empty where it is not known.
[[nodiscard]] std::string efficiency_text(const RunRecord& run);
/// The same of `efficiency_vs_all_cores`.
[[nodiscard]] std::string all_cores_text(const RunRecord& run);

/// Whether any run is on more than one host.
[[nodiscard]] bool has_several_hosts(const ResultFile& file);
/// "210 µs, 117 MB/s": latency and bandwidth of the link between hosts. Empty where it is not
/// known.
[[nodiscard]] std::string link_text(const RunRecord& run);
/// As `efficiency_text`, of `efficiency_within_hosts`.
[[nodiscard]] std::string within_hosts_text(const RunRecord& run);
/// As `efficiency_text`, of `efficiency_across_hosts`.
[[nodiscard]] std::string across_hosts_text(const RunRecord& run);
/// "64.0 %", or "64.0 to 83.1 %" where it depends on how much overlaps: the efficiency across hosts
/// that the cost of their link lets expect. Empty where that is not known.
[[nodiscard]] std::string predicted_text(const RunRecord& run);

/// "1.49 ± 0.05": the run's step over that of the first engine, and its 95 % interval.
/// Empty where it is compared with none.
[[nodiscard]] std::string versus_text(const RunRecord& run);

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// How many times as fast a run is as another.
struct SpeedRatio {
  double value = 1;
  std::optional<Interval> interval = std::nullopt;  ///< of 95 %; empty: too few repetitions

  /// Whether it tells the two apart.
  [[nodiscard]] bool is_told() const;
};

/// How many times as fast `run` is as `other`, both with a throughput: as the record of the one has
/// it that is held against the other, so that a ratio is the same wherever it is told; else by
/// `speedup_over` and `ratio_interval`.
[[nodiscard]] SpeedRatio speed_ratio(const RunRecord& run, const RunRecord& other);

/// The speedup of a run over its baseline, as its record has it; empty without one.
[[nodiscard]] std::optional<SpeedRatio> speedup_of(const RunRecord& run);

/// Runs of one workload by their speed. Conclusions, advice and pages have one, so that they name
/// the same fastest run.
struct Ranking {
  /// The runs that were measured and not found to compute something else: those whose throughput
  /// can be compared first (`Reliability::can_be_compared`), and faster ones before slower ones.
  std::vector<const RunRecord*> runs;
  std::size_t compared = 0;  ///< how many can be compared
  /// Those of them that noise does not tell from the first, in their order.
  std::vector<const RunRecord*> rivals;

  /// Null: no run can be called the fastest.
  [[nodiscard]] const RunRecord* fastest() const { return compared > 0 ? runs.front() : nullptr; }
  [[nodiscard]] bool is_rival(const RunRecord* run) const;
  /// Null where none of the runs has that id, and without an id.
  [[nodiscard]] const RunRecord* find(const std::optional<std::string>& id) const;
};

/// Whether throughput was measured, by a run that is not known to compute something else.
[[nodiscard]] bool is_ranked(const RunRecord& run);

/// Whether a run can be compared with others: measured, often enough, and not found to compute
/// something else. Null cannot.
[[nodiscard]] bool can_be_ranked(const RunRecord* run);

/// Pointers stay valid as long as the records do.
[[nodiscard]] Ranking ranking_of(std::span<const RunRecord* const> runs);

/// The fastest run on several ranks that has a speedup: of those of which and of whose baseline it
/// is told (`is_speedup_told`), else of all. Null where none has a speedup.
[[nodiscard]] const RunRecord* fastest_on_ranks(const Ranking& ranking);

/// Whether the speedup of a run has an interval, and both it and its baseline can be compared.
[[nodiscard]] bool is_speedup_told(const Ranking& ranking, const RunRecord& run);

}  // namespace ptbench

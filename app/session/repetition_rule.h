#pragma once

#include <optional>
#include <string>

#include "app/config/run_options.h"
#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// How many fresh processes a run measures with, and for how long. It decides between them only.
/// --max-time wins over everything else, counted from the start of the first repetition; that one
/// is measured in any case.
class RepetitionRule {
 public:
  explicit RepetitionRule(const RunOptions& options);

  /// That a run does if it has the time: --repeats.
  [[nodiscard]] Size least() const { return least_; }
  /// Whether there may be more, until the step is known precisely enough.
  [[nodiscard]] bool adds_more() const { return !exact_; }
  /// Half width of the interval, as a fraction, at which a run is precise.
  [[nodiscard]] double target_noise() const { return target_noise_; }
  /// Each one's share of --max-time and of --min-time.
  [[nodiscard]] double repetition_seconds() const;
  [[nodiscard]] double least_seconds() const;

  /// How the repetition after `done` is called: "repetition 3 of 5", "repetition 7" beyond those
  /// that were promised.
  [[nodiscard]] std::string label(Size done) const;
  /// The share of all that is through after `done` that took `elapsed_seconds`: of those that were
  /// promised, and then of the time.
  [[nodiscard]] double share(Size done, double elapsed_seconds) const;
  /// Whether one more is to be begun after `done` (at least one) that took `elapsed_seconds`;
  /// `precise`: they are precise enough.
  [[nodiscard]] bool wants_another(Size done, bool precise, double elapsed_seconds) const;
  /// Why there was none after `done`; empty where so many were asked for.
  [[nodiscard]] std::optional<StopReason> stop_reason(Size done, bool precise) const;

 private:
  /// Whether more than `done` are wanted, were there no end of time.
  [[nodiscard]] bool wants_more(Size done, bool precise) const;
  [[nodiscard]] bool has_time(Size done, double elapsed_seconds) const;

  Size least_;
  bool exact_;
  double target_noise_;
  double least_seconds_;
  double most_seconds_;
};

/// Whether a run is measured in the process that the user started: it has a fixed length, is one
/// repetition or none, or is itself part of a run.
[[nodiscard]] bool is_one_process(const RunOptions& options);

/// Throws the usage error of a run that has a fixed length and is to be repeated.
void require_possible_repeats(const RunOptions& options);

}  // namespace ptbench

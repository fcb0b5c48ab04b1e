#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/measure/record.h"
#include "src/measure/repetition_times.h"

namespace ptbench {

/// What the clock of the cores has to do with two runs. Boosted clocks wander with what neighbours
/// on the same chip do: by several per cent within seconds, for seconds to minutes.
struct ClockEvidence {
  double change = 0;  ///< of the logarithm of the clock, NEW less BASE, over clean repetitions
  /// The cycles of a step scatter less than its seconds from repetition to repetition of either
  /// side: the step takes a number of cycles, as where it computes.
  bool follows = false;
  /// Cycles scatter more, though the clock wanders far enough to tell: the step takes its time, as
  /// where it waits for memory or sleeps.
  bool ignores = false;
  /// Share of a change of the clock by which the step's time may change more or less, although it
  /// follows: how far the slope of y on −f is from 1, and how badly it is known, as one root mean
  /// square.
  double unexplained = 1;
};

/// Empty where a clean repetition of either side does not know its clock, or a side has none.
///
/// `follows` and `ignores` are Pitman's test of two variances of paired values ("A note on normal
/// correlation", 1939) at 95 %: with y and f the logarithms of a repetition's step and clock, as
/// they deviate from the means of their side and placement, the variances of y + f and y differ as
/// 2y + f and f are correlated.
[[nodiscard]] std::optional<ClockEvidence> clock_evidence(const SamplesRecord& base,
                                                          const SamplesRecord& fresh);

/// The times that steps which take as many cycles would need at a clock of `log_hertz`. Each clean
/// repetition knows its clock.
[[nodiscard]] std::vector<RepetitionTime> at_clock(std::vector<RepetitionTime> times,
                                                   double log_hertz);

/// The mean of the logarithm of the clock over clean repetitions; empty where one of them does not
/// know it, or there is none.
[[nodiscard]] std::optional<double> mean_log_hertz(std::span<const RepetitionTime> times);

}  // namespace ptbench

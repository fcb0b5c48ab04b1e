#pragma once

#include <optional>
#include <span>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Derives a run's figures from its raw samples, slices and repetitions: `samples.count`,
/// `step_seconds`, `throughput`, `compute` (its peak is taken as given), `energy` where slices know
/// it, and phases scaled so that they add up to the median step (`data` alone, which a loader
/// tells, is left as it is). What these held before is overwritten, but for the operations of a
/// step. A record without samples keeps them empty.
///
/// The placement class with the most clean repetitions speaks for the run (near, where two have as
/// many); without a clean one, or with too few of a run that took turns (`CountedRepetitions`), all
/// repetitions do, clean or not, and the prior is not asked. `step_seconds.median`
/// is the geometric mean of its repetitions' medians; `ci95` and `run_to_run_sd` are across them,
/// from three on; percentiles, mean, least and largest are of the samples in its clean slices.
/// Energy is of the same slices. Throughput, its interval and utilisation are of the mean step (the
/// median in a history, which leaves samples out). A record without repetitions or slices (an older
/// one) is summarised from all its samples.
void summarize_run(RunRecord& run, const PriorNoise& prior);

/// Whether there is a step time: raw samples, or (in a history, which leaves them out) repetitions.
[[nodiscard]] bool is_measured(const SamplesRecord& samples);

/// The part of `samples` that a slice covers; nothing where it leads outside, as in a file that
/// somebody else wrote.
[[nodiscard]] std::span<const double> slice_samples(const SliceRecord& slice,
                                                    std::span<const double> samples);

/// How long a slice lasted, from its samples; empty where these are not known, as in a history.
[[nodiscard]] std::optional<double> slice_seconds(const SliceRecord& slice,
                                                  const SamplesRecord& samples);

}  // namespace ptbench

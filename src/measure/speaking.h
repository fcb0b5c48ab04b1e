#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/spread.h"

namespace ptbench {

/// The repetitions that speak for a run: the clean ones of `speaking_class`, or all that have a
/// median where none is clean.
struct Speaking {
  std::string placement;            ///< class; empty: none is clean
  std::vector<std::size_t> places;  ///< among all repetitions, ascending
  std::vector<double> log_medians;  ///< of seconds, one a place
  std::vector<double> log_means;  ///< of their mean steps: the median's where samples are left out

  [[nodiscard]] Size count() const { return std::ssize(places); }
};
[[nodiscard]] Speaking speaking_of(const SamplesRecord& samples);

/// Of `logs`, one for each repetition that speaks. What the host usually does says nothing of
/// repetitions that were disturbed: without a clean one the prior is not asked.
[[nodiscard]] Spread spread_of_speaking(const Speaking& speaking, const std::vector<double>& logs,
                                        const PriorNoise& prior);

}  // namespace ptbench

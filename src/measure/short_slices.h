#pragma once

#include <string>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// Slices that were cut off too early ever to be clean, as where --max-time leaves each repetition
/// little.
struct ShortSlices {
  Size count = 0;
  Size unclean = 0;           ///< slices that are not clean, for this reason or another
  double median_seconds = 0;  ///< that the short ones lasted; 0 without any

  /// Whether they are why most of the unclean slices are unclean.
  [[nodiscard]] bool prevail() const { return 2 * count > unclean; }
};

/// Whether slices are turns, which processes took in lockstep.
[[nodiscard]] bool has_turns(const SamplesRecord& samples);

/// Whether a slice that is no turn lasted less than clean ones do; false where its samples are not
/// known.
[[nodiscard]] bool is_short(const SliceRecord& slice, const SamplesRecord& samples);

[[nodiscard]] ShortSlices short_slices(const SamplesRecord& samples);

/// "slices lasted 0.1 s, 0.25 s are needed"; there is at least one.
[[nodiscard]] std::string text_of(const ShortSlices& slices);

}  // namespace ptbench

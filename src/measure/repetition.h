#pragma once

#include <span>

#include "src/measure/record.h"
#include "src/measure/sampling.h"

namespace ptbench {

/// What one process's slices say. The placement with the most clean slices speaks (the later of two
/// with as many); without a clean slice all of them do.
[[nodiscard]] RepetitionRecord repetition_of(std::span<const SliceRecord> slices);

/// Adds what one process measured: samples, slices with their medians, and the repetition that they
/// make. Its lower quartile is of at least 20 samples of one step each: that of few depends on how
/// many they are, that of means on how many steps they are of. `record` holds no repetition yet.
void add_repetition(const Samples& samples, SamplesRecord& record);

/// Drops the repetitions after the first `count`, with their slices and samples. The figures of the
/// run are to be derived anew.
void keep_repetitions(Size count, SamplesRecord& record);

}  // namespace ptbench

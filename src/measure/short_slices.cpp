#include "src/measure/short_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/measure/slice_probe.h"
#include "src/measure/statistics.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

constexpr double kLeastSeconds = kLeastSliceShare * kSliceSeconds;

}  // namespace

bool has_turns(const SamplesRecord& samples) {
  return std::ranges::any_of(samples.slices,
                             [](const SliceRecord& slice) { return slice.turn.has_value(); });
}

bool is_short(const SliceRecord& slice, const SamplesRecord& samples) {
  if (slice.turn) return false;  // short by plan: it takes the load of its span
  return slice_seconds(slice, samples).value_or(kSliceSeconds) < kLeastSeconds;
}

ShortSlices short_slices(const SamplesRecord& samples) {
  ShortSlices found;
  std::vector<double> lengths;
  for (const SliceRecord& slice : samples.slices) {
    if (is_clean(slice)) continue;
    ++found.unclean;
    if (is_short(slice, samples)) lengths.push_back(*slice_seconds(slice, samples));
  }
  found.count = std::ssize(lengths);
  if (!lengths.empty()) found.median_seconds = median(lengths);
  return found;
}

std::string text_of(const ShortSlices& slices) {
  return fmt::format("slices lasted {:.2g} s, {:.2g} s are needed", slices.median_seconds,
                     kLeastSeconds);
}

}  // namespace ptbench

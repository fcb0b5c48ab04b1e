#include "src/measure/repetition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/measure/repetition_times.h"
#include "src/measure/slice_probe.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Placement = std::optional<std::string>;

/// Where most clean slices were measured.
std::pair<Placement, Size> clean_placement(std::span<const SliceRecord> slices) {
  std::map<Placement, Size> counts;
  std::pair<Placement, Size> most{std::nullopt, 0};
  for (const SliceRecord& slice : slices)
    if (is_clean(slice) && ++counts[slice.placement] >= most.second)
      most = {slice.placement, counts[slice.placement]};
  return most;
}

constexpr std::size_t kLeastForQuartile = 20;

/// Lower quartile of the slices that speak for a repetition.
std::optional<double> lower_quartile(const SamplesRecord& record,
                                     const RepetitionRecord& repetition) {
  if (record.steps_per_sample != 1) return std::nullopt;
  std::vector<double> seconds;
  for (const SliceRecord& slice : record.slices) {
    if (!is_clean(slice) || slice.placement != repetition.placement) continue;
    const auto begin = record.step_seconds.begin() + slice.first;
    seconds.insert(seconds.end(), begin, begin + slice.count);
  }
  if (seconds.size() < kLeastForQuartile) return std::nullopt;
  std::ranges::sort(seconds);
  return quantile(seconds, 0.25);
}

}  // namespace

RepetitionRecord repetition_of(std::span<const SliceRecord> slices) {
  const auto [placement, clean] = clean_placement(slices);
  std::vector<double> medians;
  for (const SliceRecord& slice : slices)
    if (slice.median_seconds && (clean == 0 || (is_clean(slice) && slice.placement == placement)))
      medians.push_back(*slice.median_seconds);
  RepetitionRecord repetition;
  repetition.clean_slices = clean;
  repetition.placement = placement;
  if (!medians.empty()) repetition.median_seconds = median(medians);
  return repetition;
}

void add_repetition(const Samples& samples, SamplesRecord& record) {
  record.warmup_discarded = samples.warmup_discarded;
  record.stop_reason = samples.stop_reason;
  record.step_seconds = samples.step_seconds;
  record.slices = samples.slices;
  if (samples.step_seconds.empty()) return;
  record.steps_per_sample = samples.steps_per_sample;
  const std::span<const double> all = record.step_seconds;
  for (SliceRecord& slice : record.slices)
    slice.median_seconds = median(
        all.subspan(static_cast<std::size_t>(slice.first), static_cast<std::size_t>(slice.count)));
  record.repetitions = {repetition_of(record.slices)};
  RepetitionRecord& repetition = record.repetitions.front();
  repetition.lower_quartile_seconds = lower_quartile(record, repetition);
  keep_means(record);
  repetition.started_unix_seconds = samples.started_unix_seconds;
}

void keep_repetitions(Size count, SamplesRecord& record) {
  if (std::ssize(record.repetitions) <= count) return;
  record.repetitions.resize(static_cast<std::size_t>(count));
  const auto is_dropped = [count](const SliceRecord& slice) { return slice.repetition >= count; };
  Size samples = std::ssize(record.step_seconds);
  for (const SliceRecord& slice : record.slices)
    if (is_dropped(slice)) samples = std::clamp<Size>(slice.first, 0, samples);
  std::erase_if(record.slices, is_dropped);
  record.step_seconds.resize(static_cast<std::size_t>(samples));
}

}  // namespace ptbench

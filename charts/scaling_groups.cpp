#include "charts/scaling_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "src/measure/interval_text.h"

namespace ptbench {
namespace {

bool has_scaling(const ChartedRun& charted) {
  const std::optional<ScalingRecord>& scaling = charted.run->scaling;
  return scaling && scaling->speedup && *scaling->speedup > 0 && scaling->efficiency &&
         charted.run->strategy.world_size > 0;
}

double ranks_of(const ChartedRun& charted) {
  return static_cast<double>(charted.run->strategy.world_size);
}

AllCores held_against(const ChartedRun& all, const ChartedRun& serial) {
  AllCores found{.name = {},
                 .speedup = *all.run->throughput.value / *serial.run->throughput.value,
                 .ranks = {},
                 .trusted = all.is_trusted() && serial.is_trusted(),
                 .note = note_of(all)};
  const std::optional<Size> threads = all.run->strategy.threads;
  const std::optional<Size> one = serial.run->strategy.threads;
  if (threads && one && *one > 0)
    found.ranks = static_cast<double>(*threads) / static_cast<double>(*one);
  return found;
}

/// "0.83 ± 0.01 times as fast as serial on all cores".
std::string against_all_cores(double ratio, const std::optional<Interval>& interval) {
  if (!interval) return fmt::format("{:.2f} times as fast as serial on all cores", ratio);
  return is_told_from_one(*interval)
             ? ratio_with_interval(ratio, *interval) + " times as fast as serial on all cores"
             : fmt::format("cannot be told from serial on all cores ({:.2f} to {:.2f})",
                           interval->low, interval->high);
}

}  // namespace

MeasuredRuns::MeasuredRuns(std::span<const ChartedRun> runs) {
  for (const ChartedRun& run : runs) by_id_.try_emplace({run.file, run.run->id}, &run);
}

const ChartedRun* MeasuredRuns::find(const ResultFile* file,
                                     const std::optional<std::string>& id) const {
  if (!id) return nullptr;
  const auto found = by_id_.find({file, std::string_view(*id)});
  return found == by_id_.end() ? nullptr : found->second;
}

ScalingBaseline MeasuredRuns::baseline_of(const ChartedRun& run) const {
  return {.serial = find(run.file, run.run->scaling->baseline),
          .all_cores = find(run.file, run.run->scaling->all_cores)};
}

std::vector<ScalingGroup> scaling_groups(std::span<const ChartedRun> measured) {
  std::vector<ChartedRun> scaled;
  std::ranges::copy_if(measured, std::back_inserter(scaled), has_scaling);
  const auto title = [](const ChartedRun& charted) {
    return fmt::format("{}, {} scaling", subject_of(*charted.run),
                       name_of(charted.run->scaling->mode));
  };
  std::vector<ScalingGroup> groups;
  for (std::vector<ChartedRun>& runs : grouped(scaled, title)) {
    std::string name = title(runs.front());
    groups.push_back({.title = std::move(name), .runs = std::move(runs)});
  }
  return groups;
}

std::vector<AllCores> all_cores_of(const ScalingGroup& group, const MeasuredRuns& measured) {
  std::vector<AllCores> found;
  std::vector<Traits> traits;
  std::set<std::pair<const ChartedRun*, const ChartedRun*>> seen;
  for (const ChartedRun& run : group.runs) {
    const auto [serial, all_cores] = measured.baseline_of(run);
    if (serial == nullptr || all_cores == nullptr) continue;
    if (!seen.emplace(serial, all_cores).second) continue;
    found.push_back(held_against(*all_cores, *serial));
    traits.push_back(traits_of(*all_cores, Along::nothing));
    traits.back().front().second += " on all cores";
  }
  const std::vector<std::string> names = names_of(traits);
  for (std::size_t at = 0; at < found.size(); ++at) found[at].name = names[at];
  return found;
}

bool is_trusted(const ChartedRun& run, const MeasuredRuns& measured) {
  const ChartedRun* const serial = measured.baseline_of(run).serial;
  return run.is_trusted() && (serial == nullptr || serial->is_trusted());
}

std::string scaling_note(const ChartedRun& run, const MeasuredRuns& measured) {
  const ScalingRecord& scaling = *run.run->scaling;
  std::string text =
      share_with_interval(*scaling.efficiency, scaling.efficiency_ci95) + " efficiency";
  if (scaling.efficiency_vs_all_cores)
    text += ", " + against_all_cores(*scaling.efficiency_vs_all_cores,
                                     scaling.efficiency_vs_all_cores_ci95);
  if (scaling.efficiency_across_hosts)
    text += fmt::format(", {:.1f} % across {} hosts", 100 * *scaling.efficiency_across_hosts,
                        run.run->strategy.hosts.value_or(0));
  text += ", " + note_of(run);
  const ChartedRun* const serial = measured.baseline_of(run).serial;
  if (serial != nullptr && !serial->is_trusted())
    text += "; the baseline is " + text_of(serial->reliability);
  return text;
}

std::pair<double, double> span_of_ranks(const ScalingGroup& group) {
  const auto [least, most] = std::ranges::minmax(group.runs, {}, ranks_of);
  return {ranks_of(least), ranks_of(most)};
}

Axis axis_of_ranks(const ScalingGroup& group) {
  const auto [least, most] = span_of_ranks(group);
  return {.title = "ranks",
          .scale = spans_much(least, most) ? AxisScale::log2 : AxisScale::linear,
          .low = {},
          .high = {},
          .numbers = AxisNumbers::whole};
}

std::string scaling_caption(const std::string& meaning, const ScalingGroup& group) {
  return fmt::format("{}; bars are 95 % intervals. {}.", meaning, basis_of(group.runs));
}

}  // namespace ptbench

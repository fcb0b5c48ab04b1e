#include "src/judge/serial_fraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/judge/id_options.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

constexpr double kFractionLevel = 0.95;

/// What a run has in common with those of other numbers of ranks.
std::string family_of(const RunRecord& run) {
  return fmt::format("{}\n{}\n{}\n{}", name_of(run.scaling->mode), run.strategy.name,
                     run.scaling->baseline.value_or(""), options_in_id(run));
}

const RunRecord* find_run(std::span<const RunRecord> runs, const std::optional<std::string>& id) {
  const auto found =
      std::ranges::find_if(runs, [&](const RunRecord& run) { return id && run.id == *id; });
  return found == runs.end() ? nullptr : &*found;
}

MeanError error_of(const RunRecord& run, const PriorNoise& prior) {
  const CountedRepetitions counted = counted_repetitions(run.samples);
  return error_of_counted(counted, counted.log_means, prior);
}

bool has_clean_repetitions(const RunRecord& run) {
  return clean_repetitions(run.samples) >= kLeastRepetitions;
}

std::optional<SerialFraction> serial_fraction_of(const std::vector<const RunRecord*>& runs,
                                                 const RunRecord* baseline,
                                                 const PriorNoise& prior) {
  if (baseline == nullptr || !has_clean_repetitions(*baseline)) return {};
  std::vector<ScalingPoint> points;
  for (const RunRecord* run : runs)
    if (has_clean_repetitions(*run))
      points.push_back({.ranks = run->strategy.world_size,
                        .speedup = *run->scaling->speedup,
                        .error = error_of(*run, prior)});
  return fit_serial_fraction(runs.front()->scaling->mode, points, error_of(*baseline, prior));
}

bool has_speedup(const RunRecord& run) {
  return run.scaling && run.scaling->speedup && *run.scaling->speedup > 0 &&
         std::isfinite(*run.scaling->speedup) && run.strategy.world_size >= 1;
}

MeanError times(const MeanError& error, double factor) {
  return {.variance = factor * factor * error.variance,
          .degrees_of_freedom = error.degrees_of_freedom};
}

}  // namespace

std::optional<SerialFraction> fit_serial_fraction(ScalingMode mode,
                                                  std::span<const ScalingPoint> points,
                                                  const MeanError& baseline) {
  std::set<Size> counts;
  for (const ScalingPoint& point : points) counts.insert(point.ranks);
  if (std::ssize(counts) < kLeastRankCounts) return {};
  const ScalingPoint& fewest = *std::ranges::min_element(points, {}, &ScalingPoint::ranks);
  const bool has_one = fewest.ranks == 1;
  SerialFraction result;
  if (has_one) result.unit_speedup = fewest.speedup;
  double products = 0;
  double squares = 0;
  double of_unit = 0;
  std::vector<std::pair<const ScalingPoint*, double>> moves;
  for (const ScalingPoint& point : points) {
    const auto n = static_cast<double>(point.ranks);
    const double speedup = point.speedup / result.unit_speedup;
    const bool is_strong = mode == ScalingMode::strong;
    const double x = is_strong ? 1 - 1 / n : n - 1;
    const double y = is_strong ? 1 / speedup - 1 / n : n - speedup;
    products += x * y;
    squares += x * x;
    moves.emplace_back(&point, x * (is_strong ? 1 / speedup : speedup));
    of_unit += moves.back().second;
  }
  const double fraction = products / squares;
  std::vector<MeanError> errors{times(has_one ? fewest.error : baseline, of_unit / squares)};
  for (const auto& [point, move] : moves) errors.push_back(times(point->error, move / squares));
  const double half = welch_half_width(errors, kFractionLevel);
  result.fraction = std::clamp(fraction, 0.0, 1.0);
  result.ci95 = {.low = std::clamp(fraction - half, 0.0, 1.0),
                 .high = std::clamp(fraction + half, 0.0, 1.0)};
  return result;
}

std::vector<ScalingFamily> scaling_families(std::span<const RunRecord> runs,
                                            const PriorNoise& prior) {
  std::vector<ScalingFamily> families;
  std::map<std::string, std::size_t> places;
  for (const RunRecord& run : runs) {
    if (!has_speedup(run)) continue;
    const auto [place, is_new] = places.try_emplace(family_of(run), families.size());
    if (is_new) families.emplace_back();
    families[place->second].runs.push_back(&run);
  }
  for (ScalingFamily& family : families)
    std::ranges::sort(family.runs, {}, [](const RunRecord* run) {
      return std::pair(run->strategy.world_size, std::string_view(run->id));
    });
  std::erase_if(families, [](const ScalingFamily& family) {
    return family.runs.back()->strategy.world_size <= 1;
  });
  for (ScalingFamily& family : families)
    family.serial_fraction = serial_fraction_of(
        family.runs, find_run(runs, family.runs.front()->scaling->baseline), prior);
  return families;
}

}  // namespace ptbench

#include "src/judge/entry_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Levels = std::map<std::string, double>;  ///< by placement class

/// What a step takes in each class that NEW was measured in: the mean of the entries' means.
Levels levels_of(std::span<const LogTimes> entries, const LogTimes& fresh) {
  Levels levels;
  for (const auto& [placement, times] : fresh) {
    std::vector<double> means;
    for (const LogTimes& entry : entries)
      if (const auto found = entry.find(placement); found != entry.end())
        means.push_back(mean(found->second));
    if (!means.empty()) levels[placement] = mean(means);
  }
  return levels;
}

/// Repetitions of an entry, from the levels of their classes; in these classes only.
std::vector<double> deviations(const LogTimes& entry, const Levels& levels) {
  std::vector<double> values;
  for (const auto& [placement, times] : entry)
    if (const auto level = levels.find(placement); level != levels.end())
      for (const double time : times) values.push_back(time - level->second);
  return values;
}

/// What the prior expects of these repetitions, on average over their classes.
double usual_of(const LogTimes& entry, const Levels& levels, const PriorNoise& prior) {
  double squares = 0;
  double count = 0;
  for (const auto& [placement, times] : entry) {
    if (!levels.contains(placement)) continue;
    const auto more = static_cast<double>(times.size());
    squares += more * prior.of(placement) * prior.of(placement);
    count += more;
  }
  return std::sqrt(squares / count);
}

double square(double value) { return value * value; }

/// The values of entries, each as its repetitions deviate.
struct EntryValues {
  std::vector<double> values;                ///< one an entry
  std::vector<std::vector<double>> entries;  ///< repetitions
  double repetitions = 0;                    ///< of an entry, the harmonic mean
  Size count = 0;                            ///< of repetitions
};

EntryValues values_of(std::span<const LogTimes> entries, const Levels& levels) {
  EntryValues all;
  double inverse = 0;
  for (const LogTimes& entry : entries) {
    std::vector<double> values = deviations(entry, levels);
    if (values.empty()) continue;
    all.values.push_back(mean(values));
    all.count += std::ssize(values);
    inverse += 1 / static_cast<double>(values.size());
    all.entries.push_back(std::move(values));
  }
  all.repetitions = static_cast<double>(all.values.size()) / inverse;
  return all;
}

}  // namespace

std::optional<LogChange> entry_change(std::span<const LogTimes> entries, const LogTimes& fresh,
                                      const PriorNoise& prior, const IntervalRule& rule) {
  const Levels levels = levels_of(entries, fresh);
  const EntryValues base = values_of(entries, levels);
  const std::vector<double> repetitions = deviations(fresh, levels);
  if (std::min(base.count, std::ssize(repetitions)) < kLeastRepetitions) return {};
  if (rule.own_spread && base.values.size() < 2) return {};

  const double usual = usual_of(fresh, levels, prior);
  const double of_base = square(spread_of(base.entries, usual).standard_deviation);
  const Spread of_new = spread_of({&repetitions, 1}, usual);
  const auto count = static_cast<double>(base.values.size());
  const double usual_entry = std::sqrt(square(kUsualBetweenEntries) + of_base / base.repetitions);
  const Spread between = spread_by(rule, {&base.values, 1}, usual_entry);
  const double variance = std::max(square(between.standard_deviation), of_base / base.repetitions);
  const double beyond =
      square(of_new.standard_deviation) / static_cast<double>(repetitions.size()) -
      of_base / base.repetitions;

  LogChange change;
  change.level = rule.level;
  change.estimate = mean(repetitions) - mean(base.values);
  change.standard_error = std::sqrt(variance / count + variance + std::max(0.0, beyond));
  change.degrees_of_freedom =
      of_new.unusual ? of_new.degrees_of_freedom : between.degrees_of_freedom;
  change.half_width =
      t_quantile((1 + rule.level) / 2, change.degrees_of_freedom) * change.standard_error;
  change.spread = between.unusual || !of_new.unusual ? between : of_new;
  change.usual = between.unusual || !of_new.unusual ? usual_entry : usual;
  LogTimes known = fresh;
  std::erase_if(known, [&](const auto& one) { return !levels.contains(one.first); });
  const auto& [placement, times] = *counted_class(known);
  change.placement = placement;
  change.new_log_time = mean(times);
  change.base_log_time = levels.at(placement);
  std::vector<double> all;
  for (const std::vector<double>& one : base.entries) all.insert(all.end(), one.begin(), one.end());
  change.separation =
      separation_of({{placement, all}}, {{placement, repetitions}}, change.estimate);
  change.separation.p_value = 1;
  return change;
}

}  // namespace ptbench

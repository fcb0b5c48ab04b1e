#include "src/judge/lockstep_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "src/measure/statistics.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

/// The steps of a slice.
struct TurnTimes {
  Size turn = 0;
  double log_median = 0;  ///< of seconds
  double seconds = 0;     ///< of all together
  double count = 0;
};
using Turns = std::vector<TurnTimes>;

bool is_time(double seconds) { return seconds > 0 && std::isfinite(seconds); }

/// Turns in their order, by the name of the set.
std::map<std::string, Turns> turns_of(const SamplesRecord& samples) {
  std::map<std::string, Turns> sets;
  for (const SliceRecord& slice : samples.slices) {
    if (!slice.turn || slice.repetition < 0 || slice.repetition >= std::ssize(samples.repetitions))
      continue;
    const auto number = static_cast<std::size_t>(slice.repetition);
    const auto& lockstep = samples.repetitions[number].lockstep;
    const auto seconds = slice_samples(slice, samples.step_seconds);
    if (!lockstep || seconds.empty() || !std::ranges::all_of(seconds, is_time)) continue;
    sets[*lockstep].push_back({.turn = *slice.turn,
                               .log_median = std::log(median(seconds)),
                               .seconds = mean(seconds) * static_cast<double>(seconds.size()),
                               .count = static_cast<double>(seconds.size())});
  }
  for (auto& [lockstep, turns] : sets) std::ranges::sort(turns, {}, &TurnTimes::turn);
  return sets;
}

/// The mean of many steps.
struct StepMean {
  double seconds = 0;  ///< of all together
  double count = 0;

  void add(const TurnTimes& turn) {
    seconds += turn.seconds;
    count += turn.count;
  }
  [[nodiscard]] double log() const { return std::log(seconds / count); }
};

struct Quads {
  std::vector<double> medians;         ///< changes, of each quad
  std::vector<double> base_log_times;  ///< of each quad
  StepMean base;
  StepMean fresh;
};

/// Twos of neighbours on either side whose turns have the same middle, from the first on.
Quads quads_of(std::span<const TurnTimes> base, std::span<const TurnTimes> fresh) {
  Quads quads;
  while (base.size() >= 2 && fresh.size() >= 2) {
    const Size of_base = base[0].turn + base[1].turn;
    const Size of_new = fresh[0].turn + fresh[1].turn;
    if (of_base == of_new) {
      const double base_log_time = (base[0].log_median + base[1].log_median) / 2;
      quads.base_log_times.push_back(base_log_time);
      quads.medians.push_back((fresh[0].log_median + fresh[1].log_median) / 2 - base_log_time);
      for (const TurnTimes& turn : base.first(2)) quads.base.add(turn);
      for (const TurnTimes& turn : fresh.first(2)) quads.fresh.add(turn);
    }
    if (of_base <= of_new) base = base.subspan(of_base == of_new ? 2 : 1);
    if (of_base >= of_new) fresh = fresh.subspan(of_base == of_new ? 2 : 1);
  }
  return quads;
}

}  // namespace

std::vector<LockstepPair> lockstep_pairs(const SamplesRecord& base, const SamplesRecord& fresh) {
  std::map<std::string, Turns> base_sets = turns_of(base);
  const std::map<std::string, Turns> new_sets = turns_of(fresh);
  std::vector<LockstepPair> pairs;
  for (const RepetitionRecord& repetition : base.repetitions) {
    if (!repetition.lockstep) continue;
    const auto of_new = new_sets.find(*repetition.lockstep);
    const auto of_base = base_sets.find(*repetition.lockstep);
    if (of_new == new_sets.end() || of_base == base_sets.end()) continue;
    const Quads quads = quads_of(of_base->second, of_new->second);
    base_sets.erase(of_base);  // each set once
    if (quads.medians.empty()) continue;
    pairs.push_back({.lockstep = *repetition.lockstep,
                     .quads = std::ssize(quads.medians),
                     .median = median(quads.medians),
                     .mean = quads.fresh.log() - quads.base.log(),
                     .base_log_time = mean(quads.base_log_times),
                     .base_log_mean = quads.base.log()});
  }
  return pairs;
}

}  // namespace ptbench

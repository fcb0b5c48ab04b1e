#include "src/judge/step_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/measure/counted_repetitions.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kRatioLevel = 0.95;

/// Where both repetitions were placed; empty where they were placed otherwise. A run on one core
/// has no placement, and goes with any.
std::optional<std::string> common_placement(const RepetitionRecord& one,
                                            const RepetitionRecord& other) {
  if (one.placement && other.placement && *one.placement != *other.placement) return {};
  return one.placement.value_or(other.placement.value_or(""));
}

/// The differences of repetitions that took turns with one of the other run and were placed as that
/// was, clean or not, as what disturbs one disturbs the other: logarithms of mean steps, less the
/// other's. Of the placement that most of them had. Empty where there are fewer than
/// `kLeastRepetitions`.
std::vector<double> differences_in_lockstep(const RunRecord& run, const RunRecord& other) {
  std::map<std::string, std::size_t> others;  // by set
  const std::vector<std::optional<double>> other_means = log_means(other.samples);
  for (std::size_t at = 0; at < other_means.size(); ++at)
    if (const auto& set = other.samples.repetitions[at].lockstep; set && other_means[at])
      others.emplace(*set, at);
  std::map<std::string, std::vector<double>> by_placement;
  const std::vector<std::optional<double>> means = log_means(run.samples);
  for (std::size_t at = 0; at < means.size(); ++at) {
    const RepetitionRecord& repetition = run.samples.repetitions[at];
    const auto found =
        repetition.lockstep && means[at] ? others.find(*repetition.lockstep) : others.end();
    if (found == others.end()) continue;
    const auto placement = common_placement(repetition, other.samples.repetitions[found->second]);
    if (placement) by_placement[*placement].push_back(*means[at] - *other_means[found->second]);
  }
  std::vector<double> differences;
  for (auto& [placement, of_it] : by_placement)
    if (of_it.size() > differences.size()) differences = std::move(of_it);
  if (std::ssize(differences) < kLeastRepetitions) differences.clear();
  return differences;
}

double unpaired_half_width(const CountedRepetitions& run, const CountedRepetitions& base,
                           const PriorNoise& prior) {
  const std::array errors{error_of_counted(run, run.log_means, prior),
                          error_of_counted(base, base.log_means, prior)};
  return welch_half_width(errors, kRatioLevel);
}

/// Whether rounds that are slow for the one are slow for the other.
bool correlate(const CountedRepetitions& run, const CountedRepetitions& base) {
  return rise_together(run.log_means, base.log_means, static_cast<double>(run.count() - 2));
}

double paired_half_width(const CountedRepetitions& run, const CountedRepetitions& base,
                         std::vector<double> differences, const PriorNoise& prior) {
  const Spread spread =
      spread_of({&differences, 1}, std::hypot(prior.of(run.placement), prior.of(base.placement)));
  return half_width(spread, std::ssize(differences), kRatioLevel);
}

std::vector<double> differences_by_place(const CountedRepetitions& run,
                                         const CountedRepetitions& base) {
  std::vector<double> differences;
  for (std::size_t at = 0; at < run.log_means.size(); ++at)
    differences.push_back(run.log_means[at] - base.log_means[at]);
  return differences;
}

}  // namespace

bool has_times(const RunRecord& run) {
  return run.status == Status::ok && is_positive(run.throughput.value) &&
         is_positive(run.step_seconds.median);
}

std::optional<double> step_of(const RunRecord& run) {
  const auto samples = static_cast<double>(run.strategy.global_batch.value_or(0));
  if (!is_positive(run.throughput.value) || samples <= 0) return {};
  return samples / *run.throughput.value;
}

std::optional<double> step_beside(const RunRecord& run, const RunRecord& other) {
  const std::optional<double> step = step_of(run);
  const std::vector<double> differences = differences_in_lockstep(run, other);
  if (!step || differences.empty()) return step_of(other);
  return *step * std::exp(-mean(differences));
}

double speedup_over(const RunRecord& run, const RunRecord& other) {
  const double alone = *run.throughput.value / *other.throughput.value;
  const std::optional<double> by_itself = step_of(other);
  const std::optional<double> beside = step_beside(run, other);
  return by_itself && beside ? alone * *beside / *by_itself : alone;
}

Size pairs_in_turns(const RunRecord& run, const RunRecord& other) {
  return std::ssize(differences_in_lockstep(run, other));
}

std::optional<double> ratio_half_width(const RunRecord& the_run, const RunRecord& the_base,
                                       bool in_rounds, const PriorNoise& prior) {
  const CountedRepetitions run = counted_repetitions(the_run.samples);
  const CountedRepetitions base = counted_repetitions(the_base.samples);
  const std::vector<double> in_turns = differences_in_lockstep(the_run, the_base);
  if (!in_turns.empty()) return paired_half_width(run, base, in_turns, prior);
  if (std::min(run.count(), base.count()) < kLeastRepetitions) return {};
  const double unpaired = unpaired_half_width(run, base, prior);
  const bool comparable =
      in_rounds && !run.placement.empty() && !base.placement.empty() && run.places == base.places;
  if (!comparable || !correlate(run, base)) return unpaired;
  return std::min(unpaired, paired_half_width(run, base, differences_by_place(run, base), prior));
}

std::optional<Interval> ratio_interval(double ratio, const RunRecord& the_run,
                                       const RunRecord& the_base, bool in_rounds,
                                       const PriorNoise& prior) {
  const std::optional<double> half = ratio_half_width(the_run, the_base, in_rounds, prior);
  if (!half) return {};
  return Interval{.low = ratio * std::exp(-*half), .high = ratio * std::exp(*half)};
}

}  // namespace ptbench

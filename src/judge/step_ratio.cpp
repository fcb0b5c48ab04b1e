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

/// The differences of repetitions that took turns with one of the other run, clean or not, as what
/// disturbs one disturbs the other: logarithms of mean steps, less the other's. Empty where there
/// are fewer than `kLeastRepetitions`.
std::vector<double> differences_in_lockstep(const RunRecord& run, const RunRecord& other) {
  std::map<std::string, double> others;  // by set
  const std::vector<std::optional<double>> other_means = log_means(other.samples);
  for (std::size_t at = 0; at < other_means.size(); ++at)
    if (const auto& set = other.samples.repetitions[at].lockstep; set && other_means[at])
      others.emplace(*set, *other_means[at]);
  std::vector<double> differences;
  const std::vector<std::optional<double>> means = log_means(run.samples);
  for (std::size_t at = 0; at < means.size(); ++at) {
    const auto& set = run.samples.repetitions[at].lockstep;
    const auto found = set && means[at] ? others.find(*set) : others.end();
    if (found != others.end()) differences.push_back(*means[at] - found->second);
  }
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

}  // namespace ptbench

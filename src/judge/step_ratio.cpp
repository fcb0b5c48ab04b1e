#include "src/judge/step_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/measure/counted_repetitions.h"
#include "src/measure/repetition_times.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kRatioLevel = 0.95;

/// The repetitions of two runs that took turns with each other, and what of them is compared.
struct RoundsInTurns {
  RatioBasis basis = RatioBasis::apart;  ///< apart: there are not enough
  std::vector<std::size_t> run;          ///< places of repetitions, one a round
  std::vector<std::size_t> other;
  std::vector<double> differences;  ///< of logarithms of mean steps: the run's less the other's

  [[nodiscard]] Size count() const { return std::ssize(run); }
};

SpeakingSlices slices_of(RatioBasis basis) {
  return basis == RatioBasis::clean_rounds ? SpeakingSlices::clean : SpeakingSlices::all;
}

/// Where both repetitions were placed; empty where they were placed otherwise. A run on one core
/// has no placement, and goes with any; so does one whose cores were disturbed throughout.
std::optional<std::string> common_placement(const std::optional<std::string>& one,
                                            const std::optional<std::string>& other) {
  if (one && other && *one != *other) return {};
  return one ? *one : other.value_or("");
}

std::map<std::string, std::size_t> places_by_set(const SamplesRecord& samples) {
  std::map<std::string, std::size_t> places;
  for (std::size_t at = 0; at < samples.repetitions.size(); ++at)
    if (const auto& set = samples.repetitions[at].lockstep) places.emplace(*set, at);
  return places;
}

/// Of repetitions that were placed as those of the other run, the placement that most of them had;
/// none where there are fewer than `kLeastRepetitions`.
RoundsInTurns rounds_of_basis(const SamplesRecord& run, const SamplesRecord& other,
                              RatioBasis basis) {
  const std::map<std::string, std::size_t> others = places_by_set(other);
  const std::vector<std::optional<double>> means = log_means(run, slices_of(basis));
  const std::vector<std::optional<double>> other_means = log_means(other, slices_of(basis));
  std::map<std::string, RoundsInTurns> by_placement;
  for (const auto& [set, at] : places_by_set(run)) {
    const auto found = others.find(set);
    if (found == others.end()) continue;
    const std::size_t beside = found->second;
    if (!means[at] || !other_means[beside]) continue;
    const bool clean =
        has_clean_slice(run.repetitions[at]) && has_clean_slice(other.repetitions[beside]);
    if (basis == RatioBasis::clean_rounds && !clean) continue;
    const auto placement = common_placement(placement_at(run, static_cast<Size>(at)),
                                            placement_at(other, static_cast<Size>(beside)));
    if (!placement) continue;
    RoundsInTurns& rounds = by_placement[*placement];
    rounds.run.push_back(at);
    rounds.other.push_back(beside);
    rounds.differences.push_back(*means[at] - *other_means[beside]);
  }
  RoundsInTurns most;
  for (auto& [placement, rounds] : by_placement)
    if (rounds.count() > most.count()) most = std::move(rounds);
  if (most.count() < kLeastRepetitions) return {};
  most.basis = basis;
  return most;
}

/// The clean rounds where there are enough; else all, as what disturbs one of them disturbs the
/// other.
RoundsInTurns rounds_in_turns(const RunRecord& run, const RunRecord& other) {
  RoundsInTurns clean = rounds_of_basis(run.samples, other.samples, RatioBasis::clean_rounds);
  if (clean.basis != RatioBasis::apart) return clean;
  return rounds_of_basis(run.samples, other.samples, RatioBasis::all_rounds);
}

/// The mean step over that of the other, each over all steps of the rounds, as throughputs are: all
/// that take turns have the same time in each round. Where samples were left out, by the means of
/// the rounds.
double step_ratio_in(const RoundsInTurns& rounds, const RunRecord& run, const RunRecord& other) {
  const SpeakingSlices slices = slices_of(rounds.basis);
  const auto own = pooled_mean_seconds(run.samples, rounds.run, slices);
  const auto beside = pooled_mean_seconds(other.samples, rounds.other, slices);
  if (is_positive(own) && is_positive(beside)) return *own / *beside;
  return std::exp(mean(rounds.differences));
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
  const RoundsInTurns rounds = rounds_in_turns(run, other);
  if (!step || rounds.basis == RatioBasis::apart) return step_of(other);
  return *step / step_ratio_in(rounds, run, other);
}

double speedup_over(const RunRecord& run, const RunRecord& other) {
  const double alone = *run.throughput.value / *other.throughput.value;
  const std::optional<double> by_itself = step_of(other);
  const std::optional<double> beside = step_beside(run, other);
  return by_itself && beside ? alone * *beside / *by_itself : alone;
}

TurnsTogether turns_together(const RunRecord& run, const RunRecord& other) {
  const RoundsInTurns rounds = rounds_in_turns(run, other);
  return {.basis = rounds.basis, .rounds = rounds.count()};
}

std::optional<double> ratio_half_width(const RunRecord& the_run, const RunRecord& the_base,
                                       bool in_rounds, const PriorNoise& prior) {
  const CountedRepetitions run = counted_repetitions(the_run.samples);
  const CountedRepetitions base = counted_repetitions(the_base.samples);
  const RoundsInTurns rounds = rounds_in_turns(the_run, the_base);
  if (rounds.basis == RatioBasis::all_rounds)
    return half_width(own_spread_of({&rounds.differences, 1}), rounds.count(), kRatioLevel);
  if (rounds.basis == RatioBasis::clean_rounds)
    return paired_half_width(run, base, rounds.differences, prior);
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

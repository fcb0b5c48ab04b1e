#include "src/judge/ranking.h"

#include <algorithm>

#include "src/judge/step_ratio.h"
#include "src/measure/interval_text.h"
#include "src/measure/reliability.h"

namespace ptbench {
namespace {

bool can_compare(const RunRecord* run) { return reliability_of(*run).can_be_compared(); }

/// The faster one first; of equally fast ones that with the lesser id.
bool is_before(const RunRecord* one, const RunRecord* other) {
  if (*one->throughput.value != *other->throughput.value)
    return *one->throughput.value > *other->throughput.value;
  return one->id < other->id;
}

/// The ratio as `run`'s record has it; empty where that is not held against `other`.
std::optional<SpeedRatio> recorded_ratio(const RunRecord& run, const RunRecord& other) {
  if (!run.scaling) return {};
  const ScalingRecord& scaling = *run.scaling;
  if (scaling.baseline == other.id) return speedup_of(run);
  if (scaling.all_cores != other.id || !scaling.efficiency_vs_all_cores) return {};
  return SpeedRatio{.value = *scaling.efficiency_vs_all_cores,
                    .interval = scaling.efficiency_vs_all_cores_ci95};
}

std::optional<SpeedRatio> inverse(std::optional<SpeedRatio> ratio) {
  if (!ratio || !(ratio->value > 0)) return {};
  ratio->value = 1 / ratio->value;
  if (auto& interval = ratio->interval) {
    if (!(interval->low > 0)) return {};
    interval = Interval{.low = 1 / interval->high, .high = 1 / interval->low};
  }
  return ratio;
}

}  // namespace

bool SpeedRatio::is_told() const { return interval && is_told_from_one(*interval); }

SpeedRatio speed_ratio(const RunRecord& run, const RunRecord& other) {
  if (const auto ratio = recorded_ratio(run, other)) return *ratio;
  // NOLINTNEXTLINE(readability-suspicious-call-argument): the other way round
  if (const auto ratio = inverse(recorded_ratio(other, run))) return *ratio;
  const double value = speedup_over(run, other);
  return {.value = value, .interval = ratio_interval(value, run, other, false, {})};
}

std::optional<SpeedRatio> speedup_of(const RunRecord& run) {
  if (!run.scaling || !run.scaling->speedup) return {};
  SpeedRatio ratio{.value = *run.scaling->speedup};
  const auto ranks = static_cast<double>(run.strategy.world_size);
  if (const auto& efficiency = run.scaling->efficiency_ci95)
    ratio.interval = Interval{.low = ranks * efficiency->low, .high = ranks * efficiency->high};
  return ratio;
}

bool is_ranked(const RunRecord& run) {
  return has_throughput(run) && run.verification.status != VerificationStatus::failed;
}

bool can_be_ranked(const RunRecord* run) {
  return run != nullptr && run->verification.status != VerificationStatus::failed &&
         can_compare(run);
}

bool Ranking::is_rival(const RunRecord* run) const {
  return std::ranges::find(rivals, run) != rivals.end();
}

const RunRecord* Ranking::find(const std::optional<std::string>& id) const {
  const auto found =
      std::ranges::find_if(runs, [&](const RunRecord* run) { return id && run->id == *id; });
  return found == runs.end() ? nullptr : *found;
}

Ranking ranking_of(std::span<const RunRecord* const> runs) {
  Ranking ranking;
  for (const RunRecord* run : runs)
    if (is_ranked(*run)) ranking.runs.push_back(run);
  const auto others = std::ranges::partition(ranking.runs, can_compare);
  std::sort(ranking.runs.begin(), others.begin(), is_before);
  std::ranges::sort(others, is_before);
  ranking.compared = static_cast<std::size_t>(others.begin() - ranking.runs.begin());
  // The throughputs of two runs may be of other repetitions than their ratio, which decides.
  for (std::size_t at = 1; at < ranking.compared; ++at) {
    const SpeedRatio lead = speed_ratio(*ranking.runs.front(), *ranking.runs[at]);
    const auto place = ranking.runs.begin() + static_cast<std::ptrdiff_t>(at);
    if (lead.value < 1 && lead.is_told()) std::rotate(ranking.runs.begin(), place, place + 1);
  }
  for (std::size_t at = 1; at < ranking.compared; ++at) {
    const SpeedRatio ratio = speed_ratio(*ranking.runs.front(), *ranking.runs[at]);
    if (ratio.value < 1 || !ratio.is_told()) ranking.rivals.push_back(ranking.runs[at]);
  }
  return ranking;
}

const RunRecord* fastest_on_ranks(const Ranking& ranking) {
  const RunRecord* found = nullptr;
  for (const RunRecord* run : ranking.runs) {
    if (run->strategy.world_size < 2 || !run->scaling || !run->scaling->speedup) continue;
    if (is_speedup_told(ranking, *run)) return run;
    if (found == nullptr) found = run;
  }
  return found;
}

bool is_speedup_told(const Ranking& ranking, const RunRecord& run) {
  const auto speedup = speedup_of(run);
  return speedup && speedup->interval && can_be_ranked(&run) &&
         can_be_ranked(ranking.find(run.scaling->baseline));
}

}  // namespace ptbench

#include "src/judge/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "src/base/error.h"
#include "src/base/number.h"
#include "src/base/units.h"
#include "src/measure/run_id.h"
#include "src/measure/speaking.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kLevel = 0.95;
constexpr double kStraggles = 0.05;
constexpr const char* kNoBaseline = "no-baseline";
constexpr const char* kStraggler = "straggler";
constexpr const char* kSharedCores = "oversubscribed-cores";

void remove_warning(RunRecord& run, std::string_view code) {
  std::erase_if(run.warnings, [code](const WarningRecord& old) { return old.code == code; });
}

bool is_positive(const std::optional<double>& value) {
  return value && *value > 0 && std::isfinite(*value);
}

/// Seconds of the mean step, which throughput is over; empty where that is not known.
std::optional<double> step_of(const RunRecord& run) {
  const auto samples = static_cast<double>(run.strategy.global_batch.value_or(0));
  if (!is_positive(run.throughput.value) || samples <= 0) return {};
  return samples / *run.throughput.value;
}

/// Of repetitions that took turns with one of the other run, clean or not, as what disturbs one
/// disturbs the other: logarithms of mean steps, less the other's. Empty where there are fewer than
/// `kLeastRepetitions`.
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

/// The other run's mean step as it is beside this run's: in the turns that they had together, else
/// by itself.
std::optional<double> step_beside(const RunRecord& run, const RunRecord& other) {
  const std::optional<double> step = step_of(run);
  const std::vector<double> differences = differences_in_lockstep(run, other);
  if (!step || differences.empty()) return step_of(other);
  return *step * std::exp(-mean(differences));
}

bool has_result(const RunRecord& run) {
  return run.status == Status::ok && is_positive(run.throughput.value) &&
         is_positive(run.step_seconds.median);
}

// The interval.

double unpaired_half_width(const Speaking& run, const Speaking& base, const PriorNoise& prior) {
  const std::array errors{error_of_speaking(run, run.log_means, prior),
                          error_of_speaking(base, base.log_means, prior)};
  return welch_half_width(errors, kLevel);
}

/// Whether rounds that are slow for the one are slow for the other.
bool correlate(const Speaking& run, const Speaking& base) {
  return rise_together(run.log_means, base.log_means, static_cast<double>(run.count() - 2));
}

double paired_half_width(const Speaking& run, const Speaking& base, std::vector<double> differences,
                         const PriorNoise& prior) {
  const Spread spread =
      spread_of({&differences, 1}, std::hypot(prior.of(run.placement), prior.of(base.placement)));
  return half_width(spread, std::ssize(differences), kLevel);
}

std::vector<double> differences_by_place(const Speaking& run, const Speaking& base) {
  std::vector<double> differences;
  for (std::size_t at = 0; at < run.log_means.size(); ++at)
    differences.push_back(run.log_means[at] - base.log_means[at]);
  return differences;
}

/// Of the logarithm of the ratio of two runs' step times.
std::optional<double> ratio_half_width(const RunRecord& the_run, const RunRecord& the_base,
                                       bool in_rounds, const PriorNoise& prior) {
  const Speaking run = speaking_of(the_run.samples);
  const Speaking base = speaking_of(the_base.samples);
  const std::vector<double> in_turns = differences_in_lockstep(the_run, the_base);
  if (!in_turns.empty()) return paired_half_width(run, base, in_turns, prior);
  if (std::min(run.count(), base.count()) < kLeastRepetitions) return {};
  const double unpaired = unpaired_half_width(run, base, prior);
  const bool comparable =
      in_rounds && !run.placement.empty() && !base.placement.empty() && run.places == base.places;
  if (!comparable || !correlate(run, base)) return unpaired;
  return std::min(unpaired, paired_half_width(run, base, differences_by_place(run, base), prior));
}

// The loss.

/// What a step of a run consists of, in seconds of one rank.
struct StepParts {
  double compute = 0;
  double communication = 0;
  double wait = 0;
  double data = 0;

  [[nodiscard]] StepParts times(double factor) const {
    return {factor * compute, factor * communication, factor * wait, factor * data};
  }
};

double seconds_of(const PhasesRecord& phases,
                  std::initializer_list<std::optional<double> PhasesRecord::*> of) {
  double sum = 0;
  for (const auto phase : of) sum += (phases.*phase).value_or(0);
  return sum;
}

double compute_seconds(const PhasesRecord& phases) {
  return seconds_of(phases,
                    {&PhasesRecord::forward, &PhasesRecord::backward, &PhasesRecord::optimizer});
}

/// What dp does with samples, weights and gradients between its replicas.
double moving_seconds(const PhasesRecord& phases) {
  return seconds_of(phases, {&PhasesRecord::scatter, &PhasesRecord::replicate,
                             &PhasesRecord::gather, &PhasesRecord::reduce});
}

double all_seconds(const PhasesRecord& phases) {
  return compute_seconds(phases) + moving_seconds(phases) +
         seconds_of(phases, {&PhasesRecord::data, &PhasesRecord::communication_exposed,
                             &PhasesRecord::other});
}

bool are_timed(const std::vector<RankRecord>& ranks) {
  return std::ranges::all_of(ranks, [](const RankRecord& rank) {
    return is_positive(rank.compute_seconds) && rank.wait_seconds;
  });
}

/// As the pass took them.
std::optional<StepParts> passed_parts(const RunRecord& run) {
  const PhasesRecord& phases = run.phases_seconds;
  if (!phases.forward || !phases.backward) return {};
  StepParts parts{.compute = compute_seconds(phases),
                  .communication = phases.communication_exposed.value_or(0),
                  .wait = 0,
                  .data = phases.data.value_or(0)};
  if (run.strategy.world_size > 1) {
    if (std::ssize(run.ranks) != run.strategy.world_size || !are_timed(run.ranks)) return {};
    parts.communication = std::max(0.0, parts.communication - *run.ranks.front().wait_seconds);
    double fastest = *run.ranks.front().compute_seconds;
    for (const RankRecord& rank : run.ranks) {
      fastest = std::min(fastest, *rank.compute_seconds);
      parts.wait = std::max(parts.wait, *rank.wait_seconds);
    }
    parts.compute = fastest + phases.optimizer.value_or(0);
  }
  parts.communication += moving_seconds(phases);
  return parts;
}

/// Of a step of so many seconds.
std::optional<StepParts> parts_of(const RunRecord& run, double step) {
  const std::optional<StepParts> parts = passed_parts(run);
  const double sum = all_seconds(run.phases_seconds);
  if (!parts || !(sum > 0)) return {};
  return parts->times(step / sum);
}

/// Of one rank of `run`, over that of the baseline's single one.
std::optional<double> work_ratio(const RunRecord& run, const RunRecord& baseline) {
  const Size samples = run.strategy.global_batch.value_or(0);
  const Size base_samples = baseline.strategy.global_batch.value_or(0);
  if (samples <= 0 || base_samples <= 0 || run.strategy.world_size <= 0) return {};
  return static_cast<double>(samples) /
         (static_cast<double>(base_samples) * static_cast<double>(run.strategy.world_size));
}

/// Of serial training with micro-batches as large as the run's, for the work of one of its ranks.
/// Empty where nothing tells.
std::optional<double> serial_compute(const RunRecord& run, const RunRecord& baseline,
                                     const RunRecord* same_micro_batch) {
  const auto batch = run.strategy.batch_per_replica;
  if (!batch) return {};
  const RunRecord* const serial =
      batch == baseline.strategy.batch_per_replica ? &baseline : same_micro_batch;
  if (serial == nullptr || serial->strategy.batch_per_replica != batch) return {};
  const std::optional<double> work = work_ratio(run, *serial);
  const std::optional<double> step = step_beside(run, *serial);
  if (!work || !step) return {};
  const std::optional<StepParts> parts = parts_of(*serial, *step);
  if (!parts) return {};
  return *work * parts->compute;
}

// The comparison.

/// Runs that can be compared, by id.
using Results = std::map<std::string_view, const RunRecord*>;

const RunRecord* find(const Results& results, const std::string& id) {
  const auto found = results.find(id);
  return found == results.end() ? nullptr : found->second;
}

/// Throughput over the other's.
double speedup_over(const RunRecord& run, const RunRecord& other) {
  const double alone = *run.throughput.value / *other.throughput.value;
  const std::optional<double> by_itself = step_of(other);
  const std::optional<double> beside = step_beside(run, other);
  return by_itself && beside ? alone * *beside / *by_itself : alone;
}

/// Throughput per rank over that of a run of one rank.
double efficiency_over(const RunRecord& run, const RunRecord& one) {
  return speedup_over(run, one) / static_cast<double>(run.strategy.world_size);
}

/// Null where the two did not have the same work.
const RunRecord* with_same_work(const RunRecord* all_cores, const RunRecord& run) {
  return all_cores != nullptr && all_cores->strategy.global_batch == run.strategy.global_batch
             ? all_cores
             : nullptr;
}

ScalingRecord scaling_of(const RunRecord& run, const RunRecord& baseline, const ScalingPlan& plan,
                         const Results& results) {
  ScalingRecord scaling;
  scaling.mode = plan.mode;
  scaling.baseline = plan.baseline;
  scaling.speedup = speedup_over(run, baseline);
  scaling.efficiency = *scaling.speedup / static_cast<double>(run.strategy.world_size);
  if (const RunRecord* all = with_same_work(find(results, plan.all_cores), run)) {
    scaling.all_cores = plan.all_cores;
    scaling.efficiency_vs_all_cores = speedup_over(run, *all);
  }
  if (const RunRecord* const one_rank = find(results, plan.one_rank))
    scaling.efficiency_vs_one_rank = efficiency_over(run, *one_rank);
  if (&run != &baseline)
    scaling.loss = scaling_loss(run, baseline, find(results, plan.same_micro_batch));
  return scaling;
}

void warn_of_no_baseline(RunRecord& run, const std::string& id, const RunRecord* baseline) {
  std::string why = "was not measured";
  if (baseline != nullptr && baseline->status != Status::ok)
    why = fmt::format("is {}: {}", name_of(baseline->status),
                      baseline->reason.value_or("no reason was recorded"));
  run.warnings.push_back(
      {.code = kNoBaseline,
       .message = fmt::format("no speedup and efficiency: the baseline '{}' {}", id, why),
       .remedy = "Mend what keeps it from being measured, then go on with --resume."});
}

/// The runs of a sweep, with what each is compared with.
class Comparator {
 public:
  Comparator(std::span<const RunRecord> runs, std::span<const std::optional<ScalingPlan>> plans,
             const PriorNoise& prior)
      : prior_(prior) {
    for (std::size_t at = 0; at < runs.size(); ++at) {
      all_.emplace(runs[at].id, &runs[at]);
      if (!has_result(runs[at])) continue;
      results_.emplace(runs[at].id, &runs[at]);
      if (plans[at] && plans[at]->in_rounds) in_rounds_.emplace(runs[at].id, &runs[at]);
    }
  }

  void compare(RunRecord& run, const ScalingPlan& plan) const {
    if (!has_result(run)) return;
    const RunRecord* baseline = find(results_, plan.baseline);
    if (baseline == nullptr)
      return warn_of_no_baseline(run, plan.baseline, find(all_, plan.baseline));
    ScalingRecord scaling = scaling_of(run, *baseline, plan, results_);
    if (&run != baseline) scaling.efficiency_ci95 = interval(run, *baseline, *scaling.efficiency);
    if (scaling.all_cores)
      scaling.efficiency_vs_all_cores_ci95 =
          interval(run, *find(results_, *scaling.all_cores), *scaling.efficiency_vs_all_cores);
    run.scaling = std::move(scaling);
  }

 private:
  /// Of a ratio of throughputs.
  [[nodiscard]] std::optional<Interval> interval(const RunRecord& run, const RunRecord& baseline,
                                                 double ratio) const {
    const bool in_rounds =
        find(in_rounds_, run.id) != nullptr && find(in_rounds_, baseline.id) != nullptr;
    const std::optional<double> half = ratio_half_width(run, baseline, in_rounds, prior_);
    if (!half) return {};
    return Interval{.low = ratio * std::exp(-*half), .high = ratio * std::exp(*half)};
  }

  const PriorNoise& prior_;
  Results all_;
  Results results_;
  Results in_rounds_;
};

// Imbalance on purpose.

/// Of an option that is not at its default; empty for the others.
std::string_view value_in_id(const RunRecord& run, std::string_view option) {
  const std::string key = fmt::format("/{}=", option);
  const std::size_t begin = run.id.find(key);
  if (begin == std::string::npos) return {};
  const std::string_view rest = std::string_view(run.id).substr(begin + key.size());
  return rest.substr(0, rest.find('/'));
}

/// Whether another rank's share of "96,32" is smaller.
bool has_larger_share(std::string_view list, Size rank) {
  std::vector<std::uint64_t> shares;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    shares.push_back(parse_whole(list.substr(0, comma)).value_or(0));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return rank < std::ssize(shares) &&
         shares[static_cast<std::size_t>(rank)] > std::ranges::min(shares);
}

}  // namespace

void add_scaling(std::span<RunRecord> runs, std::span<const std::optional<ScalingPlan>> plans,
                 const PriorNoise& prior) {
  ensure(runs.size() == plans.size(), "runs whose scaling is not planned");
  for (RunRecord& run : runs) {
    run.scaling.reset();
    remove_warning(run, kNoBaseline);
  }
  const Comparator comparator(runs, plans, prior);
  for (std::size_t at = 0; at < runs.size(); ++at)
    if (plans[at]) comparator.compare(runs[at], *plans[at]);
}

ScalingLossRecord scaling_loss(const RunRecord& run, const RunRecord& baseline,
                               const RunRecord* same_micro_batch) {
  const std::optional<double> work = work_ratio(run, baseline);
  const std::optional<double> mean_step = step_of(run);
  const std::optional<double> base_step = step_beside(run, baseline);
  if (!work || !mean_step || !base_step) return {};
  const std::optional<StepParts> parts = parts_of(run, *mean_step);
  const std::optional<StepParts> base_parts = parts_of(baseline, *base_step);
  if (!parts || !base_parts) return {};
  const double step = *mean_step;
  const StepParts usual = base_parts->times(*work);
  const double lost = (step - *work * *base_step) / step;
  const std::optional<double> serial = serial_compute(run, baseline, same_micro_batch);
  const double compute = (parts->compute - serial.value_or(usual.compute)) / step;
  std::optional<double> batch_effect;
  if (serial) batch_effect = (*serial - usual.compute) / step;
  const double communication = parts->communication / step;
  const double wait = parts->wait / step;
  const double data = (parts->data - usual.data) / step;
  return {.compute_slowdown = compute,
          .batch_effect = batch_effect,
          .communication = communication,
          .wait = wait,
          .data = data,
          .overhead = lost - compute - batch_effect.value_or(0) - communication - wait - data};
}

std::string_view name_of(LossCause cause) {
  switch (cause) {
    case LossCause::compute_slowdown: return "compute_slowdown";
    case LossCause::batch_effect: return "batch_effect";
    case LossCause::communication: return "communication";
    case LossCause::wait: return "wait";
    case LossCause::data: return "data";
    case LossCause::overhead: return "overhead";
  }
  throw Defect("a cause without a name");
}

std::optional<LossTerm> largest_term(const ScalingLossRecord& loss) {
  const std::array<std::pair<LossCause, std::optional<double>>, 6> terms{
      {{LossCause::compute_slowdown, loss.compute_slowdown},
       {LossCause::batch_effect, loss.batch_effect},
       {LossCause::communication, loss.communication},
       {LossCause::wait, loss.wait},
       {LossCause::data, loss.data},
       {LossCause::overhead, loss.overhead}}};
  std::optional<LossTerm> largest;
  for (const auto& [cause, share] : terms)
    if (share && (!largest || *share > largest->share)) largest = {.cause = cause, .share = *share};
  return largest;
}

std::optional<Straggler> find_straggler(std::span<const RankRecord> ranks) {
  std::vector<double> others;
  const RankRecord* slowest = nullptr;
  for (const RankRecord& rank : ranks) {
    if (!is_positive(rank.compute_seconds)) continue;
    others.push_back(*rank.compute_seconds);
    if (slowest == nullptr || *rank.compute_seconds > *slowest->compute_seconds) slowest = &rank;
  }
  if (others.size() < 2) return {};
  others.erase(std::ranges::max_element(others));
  const double share = *slowest->compute_seconds / median(others) - 1;
  if (!(share > kStraggles)) return {};
  return Straggler{.rank = slowest->rank, .share = share};
}

std::string slowing_options(const RunRecord& run, Size rank) {
  const bool shares = has_larger_share(value_in_id(run, "shares"), rank);
  const bool slow = value_in_id(run, "slow-rank").starts_with(fmt::format("{}:", rank));
  if (shares && slow) return "--shares and --slow-rank";
  if (shares) return "--shares";
  return slow ? "--slow-rank" : "";
}

bool shares_cores(const RunRecord& run) {
  return std::ranges::find(run.warnings, kSharedCores, &WarningRecord::code) != run.warnings.end();
}

void add_straggler_warning(RunRecord& run) {
  remove_warning(run, kStraggler);
  const std::optional<Straggler> straggler = find_straggler(run.ranks);
  if (!straggler) return;
  const std::string options = slowing_options(run, straggler->rank);
  if (options.empty() && shares_cores(run)) return;
  run.warnings.push_back(
      {.code = kStraggler,
       .message = fmt::format("rank {} computes {} longer than the others, which wait for it",
                              straggler->rank, format_percent(straggler->share)),
       .remedy = options.empty() ? "End what else runs on its cores, and see that they are as fast "
                                   "as the others'."
                                 : fmt::format("That was on purpose: leave out {}.", options)});
}

}  // namespace ptbench

#include "src/judge/scaling.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/judge/host_scaling.h"
#include "src/judge/id_options.h"
#include "src/judge/scaling_loss.h"
#include "src/judge/step_ratio.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr const char* kNoBaseline = "no-baseline";

/// Runs that can be compared, by id.
using Results = std::map<std::string_view, const RunRecord*>;

const RunRecord* find(const Results& results, const std::string& id) {
  const auto found = results.find(id);
  return found == results.end() ? nullptr : found->second;
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
  if (&run != &baseline) {
    const TurnsTogether turns = turns_together(run, baseline);
    scaling.basis = turns.basis;
    if (turns.basis != RatioBasis::apart) scaling.rounds = turns.rounds;
  }
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
       .message = fmt::format("no speedup or efficiency: the baseline '{}' {}", id, why),
       .remedy = "Fix what keeps it from being measured, then continue with --resume."});
}

/// The runs of a sweep, with what each is compared with.
class Comparator {
 public:
  Comparator(std::span<const RunRecord> runs, std::span<const std::optional<ScalingPlan>> plans,
             const PriorNoise& prior)
      : prior_(prior) {
    for (std::size_t at = 0; at < runs.size(); ++at) {
      all_.emplace(runs[at].id, &runs[at]);
      if (!has_times(runs[at])) continue;
      results_.emplace(runs[at].id, &runs[at]);
      if (plans[at] && plans[at]->in_rounds) in_rounds_.emplace(runs[at].id, &runs[at]);
      if (plans[at]) siblings_[plans[at]->one_rank].push_back(&runs[at]);
    }
  }

  void compare(RunRecord& run, const ScalingPlan& plan) const {
    if (!has_times(run)) return;
    const RunRecord* baseline = find(results_, plan.baseline);
    if (baseline == nullptr)
      return warn_of_no_baseline(run, plan.baseline, find(all_, plan.baseline));
    ScalingRecord scaling = scaling_of(run, *baseline, plan, results_);
    if (&run != baseline) scaling.efficiency_ci95 = interval(run, *baseline, *scaling.efficiency);
    if (scaling.all_cores)
      scaling.efficiency_vs_all_cores_ci95 =
          interval(run, *find(results_, *scaling.all_cores), *scaling.efficiency_vs_all_cores);
    if (const RunRecord* one_host = one_host_of(run, plan))
      compare_hosts(run, *one_host, plan, scaling);
    run.scaling = std::move(scaling);
  }

 private:
  /// The interval of a ratio of throughputs.
  [[nodiscard]] std::optional<Interval> interval(const RunRecord& run, const RunRecord& baseline,
                                                 double ratio) const {
    const bool in_rounds =
        find(in_rounds_, run.id) != nullptr && find(in_rounds_, baseline.id) != nullptr;
    return ratio_interval(ratio, run, baseline, in_rounds, prior_);
  }

  /// The run of the ranks of one of this run's hosts by themselves, with the same options; null
  /// where there is none, and where several could be it.
  [[nodiscard]] const RunRecord* one_host_of(const RunRecord& run, const ScalingPlan& plan) const {
    const std::optional<Size> each = ranks_per_host(run);
    if (run.strategy.hosts.value_or(1) < 2 || !each) return nullptr;
    const RunRecord* found = nullptr;
    for (const RunRecord* const other : siblings_.at(plan.one_rank)) {
      if (other->strategy.hosts != 1 || other->strategy.world_size != *each) continue;
      // Of one rank the id leaves out how ranks communicate.
      if (*each > 1 && options_in_id(*other) != options_in_id(run)) continue;
      if (found != nullptr) return nullptr;
      found = other;
    }
    return found;
  }

  void compare_hosts(const RunRecord& run, const RunRecord& one_host, const ScalingPlan& plan,
                     ScalingRecord& scaling) const {
    scaling.one_host = one_host.id;
    if (const RunRecord* const one_rank = find(results_, plan.one_rank))
      scaling.efficiency_within_hosts = efficiency_over(one_host, *one_rank);
    const double efficiency =
        speedup_over(run, one_host) / static_cast<double>(*run.strategy.hosts);
    scaling.efficiency_across_hosts = efficiency;
    scaling.efficiency_across_hosts_ci95 = interval(run, one_host, efficiency);
    scaling.predicted = predicted_scaling(run, one_host);
  }

  const PriorNoise& prior_;
  Results all_;
  Results results_;
  Results in_rounds_;
  /// Runs that differ in their ranks alone, by the id of that of one rank.
  std::map<std::string_view, std::vector<const RunRecord*>> siblings_;
};

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

}  // namespace ptbench

#include "src/judge/scaling_loss.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/judge/step_ratio.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

/// What a step of a run consists of, in seconds of one rank.
struct StepParts {
  double compute = 0;
  double communication = 0;
  std::optional<double> wait = 0;  ///< empty: part of `communication`
  double data = 0;

  [[nodiscard]] StepParts times(double factor) const {
    StepParts scaled{factor * compute, factor * communication, {}, factor * data};
    if (wait) scaled.wait = factor * *wait;
    return scaled;
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
  return std::ranges::all_of(
      ranks, [](const RankRecord& rank) { return is_positive(rank.compute_seconds); });
}

/// Of the rank that waited longest for others; empty where not all know, as on several hosts.
std::optional<double> longest_wait(const std::vector<RankRecord>& ranks) {
  double longest = 0;
  for (const RankRecord& rank : ranks) {
    if (!rank.wait_seconds) return {};
    longest = std::max(longest, *rank.wait_seconds);
  }
  return longest;
}

/// The parts of a step as the pass took them.
std::optional<StepParts> passed_parts(const RunRecord& run) {
  const PhasesRecord& phases = run.phases_seconds;
  if (!phases.forward || !phases.backward) return {};
  StepParts parts{.compute = compute_seconds(phases),
                  .communication = phases.communication_exposed.value_or(0),
                  .wait = 0,
                  .data = phases.data.value_or(0)};
  if (run.strategy.world_size > 1) {
    if (std::ssize(run.ranks) != run.strategy.world_size || !are_timed(run.ranks)) return {};
    parts.wait = longest_wait(run.ranks);
    if (parts.wait)
      parts.communication = std::max(0.0, parts.communication - *run.ranks.front().wait_seconds);
    double fastest = *run.ranks.front().compute_seconds;
    for (const RankRecord& rank : run.ranks) fastest = std::min(fastest, *rank.compute_seconds);
    // What the fastest rank waits for rank 0.
    if (!parts.wait) parts.communication += *run.ranks.front().compute_seconds - fastest;
    parts.compute = fastest + phases.optimizer.value_or(0);
  }
  parts.communication += moving_seconds(phases);
  return parts;
}

/// The parts of a step of so many seconds.
std::optional<StepParts> parts_of(const RunRecord& run, double step) {
  const std::optional<StepParts> parts = passed_parts(run);
  const double sum = all_seconds(run.phases_seconds);
  if (!parts || !(sum > 0)) return {};
  return parts->times(step / sum);
}

/// The work of one rank of `run`, over that of the baseline's single one.
std::optional<double> work_ratio(const RunRecord& run, const RunRecord& baseline) {
  const Size samples = run.strategy.global_batch.value_or(0);
  const Size base_samples = baseline.strategy.global_batch.value_or(0);
  if (samples <= 0 || base_samples <= 0 || run.strategy.world_size <= 0) return {};
  return static_cast<double>(samples) /
         (static_cast<double>(base_samples) * static_cast<double>(run.strategy.world_size));
}

/// What serial training with micro-batches as large as the run's computes for the work of one of
/// its ranks. Empty where nothing tells.
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

}  // namespace

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
  std::optional<double> wait;
  if (parts->wait) wait = *parts->wait / step;
  const double data = (parts->data - usual.data) / step;
  return {.compute_slowdown = compute,
          .batch_effect = batch_effect,
          .communication = communication,
          .wait = wait,
          .data = data,
          .overhead =
              lost - compute - batch_effect.value_or(0) - communication - wait.value_or(0) - data};
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

}  // namespace ptbench

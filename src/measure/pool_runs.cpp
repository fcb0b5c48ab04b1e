#include "src/measure/pool_runs.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "src/base/error.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

/// The first record for which `holds`; the first of all where there is none.
template <class Predicate>
const RunRecord& first_with(std::span<const RunRecord> runs, Predicate holds) {
  const auto found = std::ranges::find_if(runs, holds);
  return found == runs.end() ? runs.front() : *found;
}

bool has_samples(const RunRecord& run) { return is_measured(run.samples); }

/// A process that crashed leaves a record that knows little more than its id.
const RunRecord& best_described(std::span<const RunRecord> runs) {
  if (std::ranges::any_of(runs, has_samples)) return first_with(runs, has_samples);
  return first_with(runs, [](const RunRecord& run) { return !run.workload.name.empty(); });
}

/// Which status decides.
int weight_of(Status status) {
  switch (status) {
    case Status::failed: return 3;
    case Status::interrupted: return 2;
    case Status::ok: return 1;
    case Status::skipped: return 0;
  }
  throw Defect("a status without a weight");
}

void pool_status(std::span<const RunRecord> runs, RunRecord& pooled) {
  const RunRecord& deciding = *std::ranges::max_element(
      runs, std::ranges::less(), [](const RunRecord& run) { return weight_of(run.status); });
  pooled.status = deciding.status;
  pooled.reason = deciding.reason;
}

template <class Value>
void keep_largest(std::optional<Value>& largest, const std::optional<Value>& other) {
  if (other && (!largest || *other > *largest)) largest = other;
}

template <class Value>
void keep_first(std::optional<Value>& first, const std::optional<Value>& other) {
  if (!first) first = other;
}

/// Numbered anew, a slice that leads outside its own record would lead into another.
bool is_within(const SliceRecord& slice, const SamplesRecord& samples) {
  return std::ssize(slice_samples(slice, samples.step_seconds)) == slice.count &&
         slice.repetition >= 0 && slice.repetition < std::ssize(samples.repetitions);
}

/// The mean over repetitions: `before` of them were in `pooled`, and those of `samples` are new.
void pool_realized_slowdown(const SamplesRecord& samples, Size before, SamplesRecord& pooled) {
  if (!samples.slowdown_realized || !pooled.slowdown_realized) {
    keep_first(pooled.slowdown_realized, samples.slowdown_realized);
    return;
  }
  const auto earlier = static_cast<double>(before);
  const auto added = static_cast<double>(samples.repetitions.size());
  if (earlier + added > 0)
    pooled.slowdown_realized =
        (earlier * *pooled.slowdown_realized + added * *samples.slowdown_realized) /
        (earlier + added);
}

void append_samples(const SamplesRecord& samples, SamplesRecord& pooled) {
  const Size samples_before = std::ssize(pooled.step_seconds);
  const Size repetitions_before = std::ssize(pooled.repetitions);
  for (SliceRecord slice : samples.slices) {
    if (!is_within(slice, samples)) continue;
    slice.first += samples_before;
    slice.repetition += repetitions_before;
    pooled.slices.push_back(std::move(slice));
  }
  pooled.step_seconds.insert(pooled.step_seconds.end(), samples.step_seconds.begin(),
                             samples.step_seconds.end());
  pooled.repetitions.insert(pooled.repetitions.end(), samples.repetitions.begin(),
                            samples.repetitions.end());
  keep_first(pooled.warmup_discarded, samples.warmup_discarded);
  keep_first(pooled.steps_per_sample, samples.steps_per_sample);
  keep_largest(pooled.max_pairs, samples.max_pairs);
  keep_first(pooled.first_look, samples.first_look);
  keep_largest(pooled.quick, samples.quick);
  keep_largest(pooled.slowdown, samples.slowdown);
  pool_realized_slowdown(samples, repetitions_before, pooled);
  if (samples.stop_reason) pooled.stop_reason = samples.stop_reason;
}

/// A warning of several processes is one, even if its numbers differ.
void append_warnings(const RunRecord& run, std::vector<WarningRecord>& pooled) {
  const auto known = std::ssize(pooled);
  for (const WarningRecord& warning : run.warnings)
    if (std::none_of(pooled.begin(), pooled.begin() + known,
                     [&](const WarningRecord& other) { return other.code == warning.code; }))
      pooled.push_back(warning);
}

void pool_memory(const RunRecord& run, RunRecord& pooled) {
  keep_largest(pooled.memory.before_bytes, run.memory.before_bytes);
  keep_largest(pooled.memory.peak_bytes, run.memory.peak_bytes);
  keep_largest(pooled.memory.predicted_bytes, run.memory.predicted_bytes);
  if (run.ranks.size() != pooled.ranks.size()) return;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    keep_largest(pooled.ranks[rank].peak_memory_bytes, run.ranks[rank].peak_memory_bytes);
}

void pool_compute(const ComputeRecord& compute, ComputeRecord& pooled) {
  keep_first(pooled.flops_per_step, compute.flops_per_step);
  keep_first(pooled.executed_flops_per_step, compute.executed_flops_per_step);
  const auto peak = compute.peak_flops_per_second;
  if (!peak || (pooled.peak_flops_per_second && *peak <= *pooled.peak_flops_per_second)) return;
  pooled.peak_flops_per_second = peak;
  pooled.peak_source = compute.peak_source;
}

bool has_phases(const RunRecord& run) {
  const PhasesRecord& phases = run.phases_seconds;
  return phases.forward || phases.backward || phases.other;
}

/// A phase pass tells more than a loader, which knows only how long it let the training wait.
const PhasesRecord& phases_of(std::span<const RunRecord> runs) {
  if (std::ranges::any_of(runs, has_phases)) return first_with(runs, has_phases).phases_seconds;
  return first_with(runs, [](const RunRecord& run) { return run.phases_seconds.data.has_value(); })
      .phases_seconds;
}

/// Which verification decides.
int weight_of(VerificationStatus status) {
  switch (status) {
    case VerificationStatus::failed: return 3;
    case VerificationStatus::weak: return 2;
    case VerificationStatus::passed: return 1;
    case VerificationStatus::not_run: return 0;
  }
  throw Defect("a verification status without a weight");
}

/// The worst of what was verified, or why nothing was.
const VerificationRecord& verification_of(std::span<const RunRecord> runs) {
  const RunRecord& deciding = *std::ranges::max_element(
      runs, std::ranges::less(),
      [](const RunRecord& run) { return weight_of(run.verification.status); });
  if (deciding.verification.status != VerificationStatus::not_run) return deciding.verification;
  return first_with(runs, [](const RunRecord& run) { return run.verification.reason.has_value(); })
      .verification;
}

void pool_results(std::span<const RunRecord> runs, RunRecord& pooled) {
  pooled.phases_seconds = phases_of(runs);
  pooled.verification = verification_of(runs);
  pooled.loss =
      first_with(runs, [](const RunRecord& run) { return run.loss.first.has_value(); }).loss;
  pooled.ranks = first_with(runs, [](const RunRecord& run) { return !run.ranks.empty(); }).ranks;
  for (const RunRecord& run : runs) {
    keep_first(pooled.strategy.plan_hash, run.strategy.plan_hash);
    keep_first(pooled.strategy.graph, run.strategy.graph);
    keep_first(pooled.link, run.link);
    keep_first(pooled.energy, run.energy);
    keep_first(pooled.accuracy, run.accuracy);
    keep_first(pooled.time_to_target_seconds, run.time_to_target_seconds);
    keep_first(pooled.scaling, run.scaling);
  }
}

/// Figures of training that computes something else.
void leave_out_figures(RunRecord& run) {
  run.samples = {};
  run.step_seconds = {};
  run.throughput = {};
  run.phases_seconds = {};
  run.compute = {};
  run.energy.reset();
  run.loss = {};
  run.accuracy.reset();
  run.time_to_target_seconds.reset();
  run.scaling.reset();
  for (RankRecord& rank : run.ranks) {
    rank.compute_seconds.reset();
    rank.wait_seconds.reset();
  }
}

}  // namespace

void fail_verification(RunRecord& run, const std::string& reason) {
  run.status = Status::failed;
  run.reason = reason;
  run.verification.status = VerificationStatus::failed;
  run.verification.reason = reason;
  leave_out_figures(run);
}

RunRecord pool_runs(std::span<const RunRecord> runs, const PriorNoise& prior) {
  ensure(!runs.empty(), "no runs to pool");
  RunRecord pooled;
  const RunRecord& described = best_described(runs);
  pooled.id = described.id;
  pooled.engine = described.engine;
  pooled.workload = described.workload;
  pooled.strategy = described.strategy;
  pooled.optimizer = described.optimizer;
  pooled.data = described.data;
  pool_status(runs, pooled);
  pool_results(runs, pooled);
  // Processes that only choose and verify take more memory than those that train.
  const bool is_measured_anywhere = std::ranges::any_of(runs, has_samples);
  for (const RunRecord& run : runs) {
    append_samples(run.samples, pooled.samples);
    append_warnings(run, pooled.warnings);
    if (has_samples(run) || !is_measured_anywhere) pool_memory(run, pooled);
    pool_compute(run.compute, pooled.compute);
  }
  if (pooled.verification.status == VerificationStatus::failed) leave_out_figures(pooled);
  if (pooled.verification.status == VerificationStatus::passed)  // by some of the processes
    std::erase_if(pooled.warnings, [](const auto& one) { return one.code == "not-compared"; });
  summarize_run(pooled, prior);
  return pooled;
}

}  // namespace ptbench

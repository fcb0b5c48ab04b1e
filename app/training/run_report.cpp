#include "app/training/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/training/rank_memory.h"
#include "src/base/host.h"
#include "src/measure/pool_runs.h"
#include "src/measure/prior_noise.h"
#include "src/measure/repetition.h"
#include "src/measure/straggler.h"
#include "src/measure/summarize_run.h"
#include "strategies/verify.h"
#include "workloads/graph.h"

namespace ptbench {
namespace {

/// What each thread of several ranks has of a core; one rank's own threads were measured together.
double core_share(const RunConfig& config, Size all_cores) {
  const Size threads = config.threads * config.options.nproc;
  if (config.options.nproc == 1 || config.options.core_share) return 1;
  const auto cores = static_cast<double>(all_cores);
  return std::min(1.0, std::max(cores, 1.0 * config.threads) / static_cast<double>(threads));
}

void report_peak_flops(const RunConfig& config, const TimedOn& place, ComputeRecord& compute) {
  if (config.device.is_emulated) return;
  const auto ranks = static_cast<double>(config.options.nproc);
  const double share = core_share(config, place.cores);
  const auto peak = place.backend.measure_peak(config.type, place.clock, PeakEffort::full);
  if (!peak) return;
  compute.peak_flops_per_second = ranks * share * peak->flops_per_second;
  std::string source = fmt::format("measured: {} {}{}", config.precision, peak->of,
                                   ranks > 1 ? fmt::format(", times {:g} ranks", ranks) : "");
  if (share < 1) source += fmt::format(", times {:.3g}: they share cores", share);
  compute.peak_source = std::move(source);
}

/// Loss scaling skips steps whose gradients overflow; a loss that is not finite stays so.
void fail_if_diverged(RunRecord& record) {
  if (record.status != Status::ok || !record.loss.last || std::isfinite(*record.loss.last)) return;
  record.status = Status::failed;
  record.reason = fmt::format("training diverged: the last loss is {}", *record.loss.last);
}

void warn_of_skipped_steps(Strategy& strategy, RunRecord& record) {
  const Size skipped = strategy.replica().scaler().skipped();
  if (skipped == 0) return;
  record.warnings.push_back(
      {.code = "skipped-steps",
       .message = fmt::format("{} of {} steps were skipped: their gradients overflowed at that "
                              "loss scale",
                              skipped, strategy.steps()),
       .remedy = "Some at the start are usual while the scale is found."});
}

void add_rank(std::optional<ReplicaSeconds> seconds, std::optional<Bytes> peak, RunRecord& record) {
  const auto rank_number = static_cast<std::size_t>(std::ssize(record.ranks));
  RankRecord rank{.rank = std::ssize(record.ranks),
                  .host = host_name(),
                  .device = record.strategy.devices.at(rank_number),
                  .peak_memory_bytes = peak};
  if (seconds) rank.compute_seconds = seconds->compute;
  if (seconds) rank.wait_seconds = seconds->wait;
  record.ranks.push_back(std::move(rank));
}

}  // namespace

void report_data(const DataSource& data, const RunConfig& config, RunRecord& record) {
  record.data.source = data.source;
  record.data.samples = data.train.size();
  record.data.mean = data.mean;
  record.data.standard_deviation = data.standard_deviation;
  record.data.workers = config.options.data_workers;
}

void report_workload(const Graph& graph, RunRecord& record) {
  record.workload.digest = graph_digest(graph);
  record.workload.parameters = graph.parameter_count();
  record.workload.flops_per_sample = graph.flops_per_sample();
  const auto dimensions = graph.input_shape.dimensions();
  record.workload.input_shape.assign(dimensions.begin(), dimensions.end());
}

void report_unverified(const VerificationPlan& check, VerifyMode asked, RunRecord& record) {
  record.verification.reason = check.reason;
  if (asked == VerifyMode::only) {
    record.status = Status::skipped;
    record.reason = "nothing was verified: " + check.reason;
  }
  if (asked == VerifyMode::on || check.lacks_memory)
    record.warnings.push_back({.code = "not-verified",
                               .message = "nothing was verified: " + check.reason,
                               .remedy = check.lacks_memory
                                             ? "Verify with a smaller batch."
                                             : "Leave out --verify on if you do not need it."});
}

void report_verified(RunRecord& record) {
  const std::string reason = record.verification.reason.value_or("");
  if (record.verification.status == VerificationStatus::weak)
    record.warnings.push_back(
        {.code = "weakly-verified",
         .message = "the comparison with serial training is weak: " + reason,
         .remedy = "Compare more: a smaller batch takes less time, a larger one rounds less."});
  if (record.verification.status != VerificationStatus::failed) return;
  record.status = Status::failed;
  record.reason = reason.starts_with(kOracleDiverges)
                      ? reason
                      : fmt::format("does not match serial training: {}", reason);
}

void report_parted(Size rank, RunRecord& record) {
  fail_verification(record, fmt::format("does not match serial training: after the timed steps "
                                        "the parameters of rank {} differ from rank 0's",
                                        rank));
}

void report_steps(const Samples& samples, Strategy& strategy, const RunConfig& config,
                  const TimedOn& place, RunRecord& record) {
  report_peak_flops(config, place, record.compute);
  add_repetition(samples, record.samples);
  if (config.options.slowdown > 0) record.samples.slowdown = config.options.slowdown;
  summarize_run(record, PriorNoise());
  if (samples.interrupted) record.status = Status::interrupted;
  fail_if_diverged(record);
  warn_of_skipped_steps(strategy, record);
}

void report_ranks(std::span<const RankFacts> ranks, std::span<const ReplicaSeconds> own,
                  Bytes shared, RunRecord& record) {
  if (ranks.empty()) return;
  record.memory = memory_of(ranks, shared);
  record.strategy.hosts = 1;
  for (const RankFacts& rank : ranks)
    add_rank(rank.observed ? std::optional(rank.seconds) : std::nullopt,
             rank.peak.own + rank.peak.files, record);
  for (std::size_t replica = 1; ranks.size() == 1 && replica < own.size(); ++replica)
    add_rank(own[replica], std::nullopt, record);
  if (!own.empty()) summarize_run(record, PriorNoise());
  add_straggler_warning(record);
}

void report_hosts(std::span<const std::string> hosts, RunRecord& record) {
  record.strategy.hosts = std::ssize(std::set<std::string_view>(hosts.begin(), hosts.end()));
  for (RankRecord& rank : record.ranks) {
    rank.host = hosts[static_cast<std::size_t>(rank.rank)];
    rank.wait_seconds.reset();  // hosts have clocks of their own: nobody knows who came last
  }
}

}  // namespace ptbench

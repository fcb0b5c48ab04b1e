#include "src/judge/host_scaling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "src/judge/step_ratio.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kBackwardShare = 2.0 / 3;  // two products for each one of forward
constexpr double kParameterBytes = 4;

/// What of a step goes over a host's link, each way.
struct Crossing {
  double bytes = 0;
  double messages = 0;  ///< of each bucket, that wait for each other
};

bool sends_halves(const RunRecord& run) {
  return run.id.find("/reduce-precision=bf16") != std::string::npos;
}

/// Of `hosts` with `each` so many ranks: what leaves one in a reduce-scatter in which each rank
/// sends to every other one.
double share_to_owners(double hosts, double each) { return each * (hosts - 1) / hosts; }

/// Empty where nothing tells how values travel.
std::optional<Crossing> crossing_of(const RunRecord& run) {
  const std::optional<Size> of_host = ranks_per_host(run);
  const std::string communicator = run.strategy.communicator.value_or("");
  if (!of_host || !run.workload.parameters || run.strategy.name != "ddp" ||
      run.engine.name.value_or("native") != "native" || communicator.empty())
    return {};
  const auto ranks = static_cast<double>(run.strategy.world_size);
  const auto each = static_cast<double>(*of_host);
  const double hosts = ranks / each;
  const double parameters = kParameterBytes * static_cast<double>(*run.workload.parameters);
  const double gradients = sends_halves(run) ? parameters / 2 : parameters;
  const double around = (ranks - 1) / ranks;  // a ring, of which one connection leaves the host
  if (communicator == "nccl")
    return Crossing{.bytes = around * (gradients + parameters), .messages = 2 * (ranks - 1)};
  if (!communicator.starts_with("shm+"))  // from rank to rank
    return Crossing{.bytes = share_to_owners(hosts, each) * gradients + around * parameters,
                    .messages = ranks};
  const double of_leaders = share_to_owners(hosts, 1);
  return Crossing{
      .bytes = (sends_halves(run) ? share_to_owners(hosts, each) : of_leaders) * gradients +
               of_leaders * parameters,
      .messages = hosts};
}

double buckets_of(const RunRecord& run) {
  const auto limit = static_cast<double>(run.strategy.bucket_bytes.value_or(0));
  const double bytes = kParameterBytes * static_cast<double>(run.workload.parameters.value_or(0));
  return limit > 0 ? std::max(1.0, std::ceil(bytes / limit)) : 1;
}

/// What the ranks of one host take for the work that each has in `run`.
std::optional<double> step_without_link(const RunRecord& run, const RunRecord& one_host) {
  const std::optional<double> step = step_beside(run, one_host);
  const auto samples = static_cast<double>(run.strategy.global_batch.value_or(0));
  const auto of_host = static_cast<double>(one_host.strategy.global_batch.value_or(0));
  const auto hosts = static_cast<double>(run.strategy.hosts.value_or(0));
  if (!step || samples <= 0 || of_host <= 0 || hosts <= 0) return {};
  return *step * samples / (of_host * hosts);
}

}  // namespace

std::optional<Size> ranks_per_host(const RunRecord& run) {
  std::map<std::string_view, Size> ranks;
  for (const RankRecord& rank : run.ranks) ++ranks[rank.host];
  if (ranks.empty() || std::ssize(run.ranks) != run.strategy.world_size) return {};
  const Size first = ranks.begin()->second;
  const bool are_alike =
      std::ranges::all_of(ranks, [first](const auto& host) { return host.second == first; });
  return are_alike ? std::optional(first) : std::nullopt;
}

PredictedRecord predicted_scaling(const RunRecord& run, const RunRecord& one_host) {
  const std::optional<Crossing> crossing = crossing_of(run);
  const std::optional<double> alone = step_without_link(run, one_host);
  if (!crossing || !alone || !run.link || !run.link->latency_seconds ||
      !is_positive(run.link->bandwidth_bytes_per_second))
    return {};
  const double buckets = buckets_of(run);
  const double link = buckets * crossing->messages * *run.link->latency_seconds +
                      crossing->bytes / *run.link->bandwidth_bytes_per_second;
  PredictedRecord predicted;
  predicted.step_seconds = *alone + link;
  predicted.efficiency_across_hosts = *alone / *predicted.step_seconds;
  if (!run.strategy.overlap.value_or(false)) return predicted;
  const auto micro_batches = static_cast<double>(run.strategy.accumulation_steps.value_or(1));
  const double backward = kBackwardShare * *alone / std::max(1.0, micro_batches);
  predicted.overlapped_step_seconds =
      std::max(*alone + link / buckets, *alone - backward * (1 - 1 / buckets) + link);
  predicted.overlapped_efficiency_across_hosts = *alone / *predicted.overlapped_step_seconds;
  return predicted;
}

}  // namespace ptbench

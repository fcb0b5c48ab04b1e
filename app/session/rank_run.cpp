#include "app/session/rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/config/memory_limit.h"
#include "app/config/run_arguments.h"
#include "app/config/run_options.h"
#include "reports/read_result.h"
#include "src/base/error.h"
#include "src/comm/shm/shared_region.h"
#include "src/data/source.h"
#include "src/ranks/rank_processes.h"

namespace ptbench {
namespace {

/// Whether rank `rank` is told. This process itself reports what rank 0 has measured, and has a
/// place in a world of one.
bool concerns_rank(OptionScope scope, Size rank) {
  switch (scope) {
    case OptionScope::report:
    case OptionScope::place: return false;
    case OptionScope::training_files:
    case OptionScope::leading: return rank == 0;
    default: return true;
  }
}

std::vector<std::string> arguments_of(const RunConfig& config, const SharedRegion& region,
                                      Size rank) {
  std::vector<std::string> arguments{"run"};
  for (const NamedAssignment& assignment : config.options.assignments) {
    if (concerns_rank(scope_of(assignment.name), rank))
      arguments.push_back(argument_of(assignment));
  }
  arguments.push_back(fmt::format("--rank={}", rank));
  arguments.push_back(fmt::format("--region={}", region.descriptor()));
  return arguments;
}

/// The record of rank 0, which describes the run as this process would, and has measured it, or as
/// much as it could before it failed. False where it wrote none, or died while it did.
bool take_record(const std::string& output, RunRecord& record) {
  try {
    ResultFile result = read_result(output, "rank 0's result");
    if (result.runs.empty()) return false;
    record = std::move(result.runs.front());
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The shape of the samples that the model is built for.
Shape sample_shape(const RunConfig& config) {
  const bool has_own = config.synthetic_samples > 0 || !config.workload.takes_any_width;
  return has_own ? config.workload.input_shape : sample_shape_of(config.options.data);
}

}  // namespace

// Two trainings may be alive at a time, each with parameters, gradients and optimizer state (of
// two arenas at the most), and the losses of micro-batches. Arenas that are longer than a huge page
// are whole ones: twice as much is enough.
Bytes bytes_per_rank(const RunConfig& config) {
  constexpr Bytes kRoom = Bytes{8} << 20U;  // messages that measure what communication costs
  constexpr Bytes kArenas = 16;
  const Graph graph = config.workload.build(sample_shape(config));
  return kRoom + kArenas * padded_parameter_bytes(graph) +
         2 * float_bytes(config.batch.accumulation_steps);
}

void measure_on_ranks(const RunConfig& config, const Topology& topology,
                      const RunSurroundings& around, RunRecord& record) {
  // Before a thousand processes find out, each for itself.
  if (config.synthetic_samples > 0)
    require_memory(config, config.workload.build(config.workload.input_shape));
  around.files.leave_training_files();
  const SharedRegion region =
      SharedRegion::create(config.options.nproc, bytes_per_rank(config),
                           static_cast<int>(topology.cores.size()), config.threads);
  RankProcesses processes{.arguments = {},
                          .timeout = config.data_parallel.timeout,
                          .interrupted = [&] { return around.interrupt.requested(); }};
  for (Size rank = 0; rank < config.options.nproc; ++rank)
    processes.arguments.push_back(arguments_of(config, region, rank));
  if (around.progress.visible())
    processes.arguments.front().push_back("--progress-prefix=" +
                                          config.options.orders.progress_prefix.value_or("rank 0"));
  const RankOutcome outcome = run_ranks(region, processes);
  around.progress.pass_on({});  // what rank 0 left on the terminal, should it have died
  const bool was_told = take_record(outcome.output, record);
  if (outcome.interrupted) {
    // What rank 0 may have seen fail is another that the signal had ended.
    if (record.status != Status::interrupted || !record.reason)
      record.reason = "stopped by a signal";
    record.status = Status::interrupted;
  } else if (outcome.error) {
    if (outcome.error->code() != ExitCode::failed) throw Error(*outcome.error);
    record.status = Status::failed;
    record.reason = reason_of(*outcome.error);
  } else if (!was_told) {
    record.status = Status::failed;
    record.reason = "rank 0 ended and left no result that can be read";
  }
}

}  // namespace ptbench

#include "src/training/traced_steps.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/trace_json.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/number.h"
#include "src/base/text.h"
#include "src/config/version.h"
#include "src/device/activity.h"
#include "src/measure/step_phases.h"
#include "src/measure/step_trace.h"
#include "strategies/phase_pass.h"
#include "strategies/traced_communicator.h"

namespace ptbench {
namespace {

TrainingContext with(Communicator& communicator, const TrainingContext& context) {
  return {.config = context.config,
          .graph = context.graph,
          .data = context.data,
          .site = context.site,
          .communicator = communicator,
          .control = context.control,
          .alone = context.alone,
          .alone_control = context.alone_control,
          .data_parallel = context.data_parallel,
          .replica_devices = context.replica_devices,
          .clock = context.clock,
          .host = context.host};
}

TraceClock describe(const Clock& clock) {
  return {.identity = steady_clock_identity(),
          .unix_at_zero =
              static_cast<std::int64_t>(std::llround(1e9 * (unix_seconds() - clock.now())))};
}

/// Of the GPUs of this process's replicas, as CUDA counts them; empty on a CPU.
std::vector<Size> device_numbers(const RunConfig& config, Size replicas) {
  std::vector<Size> numbers;
  for (Size replica = 0; replica < replicas && !config.device.is_cpu(); ++replica) {
    const std::string id = config.device.of_replicas.at(
        static_cast<std::size_t>(config.strategy.one_process ? replica : config.rank()));
    const auto number = parse_whole(std::string_view(id).substr(id.find(':') + 1));
    numbers.push_back(static_cast<Size>(number.value_or(0)));
  }
  return numbers;
}

TraceOrigin origin_of(const TrainingContext& context, const TraceWindow& window, Size replicas,
                      const std::string& activity_gap) {
  const RunConfig& config = context.config;
  return {.run = config.id,
          .version = build_info().version,
          .rank = config.rank(),
          .world_size = config.processes(),
          .communicator = context.communicator.name(),
          .device = config.device.id,
          .device_numbers = device_numbers(config, replicas),
          .activity_gap = activity_gap,
          .clock = describe(context.clock),
          .window = window,
          .is_emulated = config.device.is_emulated};
}

void warn_of_cut(const TraceRecorder& recorder, const TraceWindow& window, RunRecord& record) {
  if (!recorder.is_cut()) return;
  record.warnings.push_back(
      {.code = "trace-cut",
       .message =
           fmt::format("a trace holds at most {} phases a thread: it ends after {} of the "
                       "{} steps",
                       TraceRecorder::kMostSpans, recorder.whole_steps().size(), window.count + 1),
       .remedy = "Trace fewer steps, with --trace-steps."});
}

void warn_of_gap(const ActivityStart& activity, RunRecord& record) {
  if (activity.reason.empty()) return;
  record.warnings.push_back(
      {.code = "trace-without-activity",
       .message = fmt::format("the trace has phases, not the kernels of the device: {}",
                              single_line(activity.reason)),
       .remedy = activity.remedy});
}

void warn_of_lost(const ActivityLog& log, RunRecord& record) {
  if (log.lost + log.without_call == 0) return;
  std::string message =
      fmt::format("{} lost {} records of what the device did", log.source, log.lost);
  if (log.without_call > 0)
    message += fmt::format(
        "; {} more, of work whose call was lost, are not in the trace, because their step is not "
        "known",
        log.without_call);
  record.warnings.push_back({.code = "trace-lost-activity",
                             .message = std::move(message),
                             .remedy = "Trace fewer steps, with --trace-steps."});
}

}  // namespace

void trace_training(const RankRole& role, const TrainingContext& context,
                    const TrainingShape& shape, const std::shared_ptr<const ProgramPlan>& plan,
                    const RunWatch& watch, OutputFile& file, RunRecord& record) {
  const TraceWindow window = context.config.options.trace_window.value_or(TraceWindow());
  const Size replicas = shape.one_process ? shape.batch.replicas : 1;
  TraceRecorder recorder(static_cast<std::size_t>(replicas), window.count + 1);
  ActivityStart activity;
  recorder.before_first_step([&] {
    if (const ActivityInterface* engine = find_activity(context.device().id()))
      activity = engine->start();
  });
  PhaseTimer timer(context.clock, &context.device().compute(), &recorder);
  TracedCommunicator communicator(context.communicator, timer);
  const TrainingContext traced = with(communicator, context);
  const auto copy = build_training(traced, shape, plan);
  start_weights(context.config, copy->replica().program());
  role.in_step(*copy, [&] { trace_steps(*copy, timer, window, context.clock, watch.keep_going()); },
               {.timer = &timer});
  copy->observe(nullptr);
  std::optional<ActivityLog> log;
  if (activity.watch) {
    context.device().finish();
    log = activity.watch->finish();
  }
  if (!role.decide([&] { return !watch.is_interrupted(); })) {
    if (role.leads()) watch.stop_if_interrupted();
    return;
  }
  file.commit(to_trace_json(origin_of(context, window, replicas, activity.reason), recorder,
                            log ? &*log : nullptr));
  if (!role.leads()) return;
  warn_of_cut(recorder, window, record);
  warn_of_gap(activity, record);
  if (log) warn_of_lost(*log, record);
}

}  // namespace ptbench

#include "src/training/traced_steps.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "reports/trace_json.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/config/version.h"
#include "src/measure/step_phases.h"
#include "src/measure/step_trace.h"
#include "strategies/phase_pass.h"
#include "strategies/traced_communicator.h"

namespace ptbench {
namespace {

TrainingGround with(Communicator& communicator, const TrainingGround& ground) {
  return {.config = ground.config,
          .graph = ground.graph,
          .data = ground.data,
          .site = ground.site,
          .communicator = communicator,
          .control = ground.control,
          .alone = ground.alone,
          .alone_control = ground.alone_control,
          .data_parallel = ground.data_parallel,
          .replica_devices = ground.replica_devices,
          .clock = ground.clock};
}

TraceClock describe(const Clock& clock) {
  return {.identity = steady_clock_identity(),
          .unix_at_zero =
              static_cast<std::int64_t>(std::llround(1e9 * (unix_seconds() - clock.now())))};
}

TraceOrigin origin_of(const TrainingGround& ground, const TraceWindow& window) {
  const RunConfig& config = ground.config;
  return {.run = config.id,
          .version = build_info().version,
          .rank = config.rank(),
          .world_size = config.processes(),
          .communicator = ground.communicator.name(),
          .device = "cpu",
          .clock = describe(ground.clock),
          .window = window};
}

void warn_of_cut(const TraceRecorder& recorder, const TraceWindow& window, RunRecord& record) {
  if (!recorder.is_cut()) return;
  record.warnings.push_back(
      {.code = "trace-cut",
       .message =
           fmt::format("a trace holds {} phases a thread at the most: it ends after {} of the "
                       "{} steps",
                       TraceRecorder::kMostSpans, recorder.whole_steps().size(), window.count + 1),
       .remedy = "Trace fewer steps, with --trace-steps."});
}

}  // namespace

void trace_training(const RankRole& role, const TrainingGround& ground, const TrainingShape& shape,
                    const std::shared_ptr<const ProgramPlan>& plan, const RunWatch& watch,
                    OutputFile& file, RunRecord& record) {
  const TraceWindow window = ground.config.options.trace_window.value_or(TraceWindow());
  const Size replicas = shape.one_process ? shape.batch.replicas : 1;
  TraceRecorder recorder(static_cast<std::size_t>(replicas), window.count + 1);
  PhaseTimer timer(ground.clock, &ground.device().compute(), &recorder);
  TracedCommunicator communicator(ground.communicator, timer);
  const TrainingGround traced = with(communicator, ground);
  const auto copy = build_training(traced, shape, plan);
  start_weights(ground.config, copy->replica().program());
  role.in_step(*copy, [&] { trace_steps(*copy, timer, window, ground.clock, watch.keep_going()); },
               {.timer = &timer, .look = {}});
  copy->observe(nullptr);
  if (!role.decide([&] { return !watch.is_interrupted(); })) {
    if (role.leads()) watch.stop_if_interrupted();
    return;
  }
  file.commit(to_trace_json(origin_of(ground, window), recorder));
  if (role.leads()) warn_of_cut(recorder, window, record);
}

}  // namespace ptbench

#include "src/programs/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "reports/output_file.h"
#include "reports/trace_files.h"
#include "reports/trace_json.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/units.h"
#include "src/config/version.h"
#include "src/measure/noise_warnings.h"
#include "src/measure/plan_measuring.h"
#include "src/measure/repetition.h"
#include "src/measure/sampling.h"
#include "src/measure/step_protocol.h"
#include "src/measure/straggler.h"
#include "src/measure/summarize_run.h"
#include "src/process/process_tree.h"
#include "src/programs/program_phases.h"
#include "src/programs/program_probe.h"
#include "src/programs/program_steps.h"
#include "src/programs/running_program.h"
#include "src/training/run_watch.h"

namespace ptbench {
namespace {

constexpr double kPhaseSeconds = 0.3;
constexpr Size kFewestPhaseSteps = 3;
constexpr Size kMostPhaseSteps = 50;

/// Turns of a program: before it waits for one it rests, and then it knows how long the turn is.
class ProgramTurns final : public TurnSource {
 public:
  ProgramTurns(TurnClient::Setup setup, ProgramSteps& steps, ProgramProbe& probe)
      : client_(std::move(setup)), steps_(steps), probe_(probe) {}

  [[nodiscard]] std::optional<Turn> next() override {
    const std::optional<Turn> turn = client_.next();
    if (!turn) return turn;
    probe_.plan(turn->seconds, turn->steps);
    steps_.expect(kSettleSeconds, 1);
    return turn;
  }
  void end(const TurnTaken& taken) override { client_.end(taken); }

 private:
  TurnClient client_;
  ProgramSteps& steps_;
  ProgramProbe& probe_;
};

class ProgramRun {
 public:
  ProgramRun(const RunConfig& config, const RunSurroundings& around, RunRecord& record)
      : config_(config),
        options_(config.options),
        around_(around),
        record_(record),
        watch_(around, 0),
        program_({.command = config.program->command,
                  .socket = options_.orders.steps_socket.value(),
                  .world_size = config.program->world_size,
                  .is_own = config.program->engine != "program",
                  .timeout = options_.timeout(),
                  .interrupted = [this] { return watch_.is_interrupted(); }},
                 around.progress),
        steps_(program_),
        probe_(steps_) {}

  void run() {
    try {
      around_.progress.announce("waiting for the program");
      program_.await_hellos();
      report_hellos();
      measure();
    } catch (const Interrupted&) {
      record_.status = Status::interrupted;
    }
    around_.progress.clear();
    if (record_.status == Status::interrupted)
      record_.reason = "stopped by a signal while the program trained";
  }

 private:
  void measure() {
    const std::vector<int> processes = descendants();
    if (const auto memory = memory_of(processes)) record_.memory.before_bytes = memory->resident;
    reset_peak_memory(processes);
    const double started = unix_seconds();
    // In turns and in a fixed number of steps nothing tells how long it may take.
    if (!options_.orders.turns && !options_.steps)
      steps_.end_after(options_.max_time_seconds + options_.timeout_seconds);
    Samples samples = take_samples();
    steps_.end_after({});
    samples.started_unix_seconds = started;
    samples.warmup_discarded += steps_.dropped();
    add_standstill_warning(record_, samples.standstill);
    add_warmup_warning(record_, samples);
    warn_of_helpers();
    add_repetition(samples, record_.samples);
    if (samples.interrupted) record_.status = Status::interrupted;
    report_losses();
    report_ranks();
    if (record_.status == Status::ok && !program_.has_left()) observe_phases();
    report_losses();
    summarize_run(record_, PriorNoise());
    const bool had_left = program_.has_left();
    if (!program_.finish()) warn_of_lingering();
    if (had_left && record_.status == Status::ok) judge_early_end(samples);
  }

  Samples take_samples() {
    MeasuringPlan plan = plan_measuring({.steps = options_.steps,
                                         .epoch_steps = std::nullopt,
                                         .warmup = options_.warmup,
                                         .min_time_seconds = options_.min_time_seconds,
                                         .max_time_seconds = options_.max_time_seconds});
    plan.config.probe = &probe_;
    std::optional<ProgramTurns> turns;
    if (options_.orders.turns)
      turns.emplace(TurnClient::Setup{.name = *options_.orders.turns,
                                      .interrupted = [this] { return watch_.is_interrupted(); },
                                      .rest = [this] { steps_.rest(); },
                                      .wake = [] {}},
                    steps_, probe_);
    if (turns) plan.config.turns = &*turns;
    if (plan.config.warmup_steps.value_or(0) > 0) steps_.expect(0, *plan.config.warmup_steps);
    return ptbench::measure([this] { steps_.step(); }, plan.config, *plan.rule, steps_,
                            [this] { return watch_.is_interrupted(); },
                            [this](const SamplingProgress& progress) { show(progress); });
  }

  void show(const SamplingProgress& progress) {
    const RankPhase phase = progress.warming_up ? RankPhase::warming_up : RankPhase::measuring;
    if (watch_.phase() != phase) {
      watch_.enter_unseen(phase);
      around_.progress.begin(name_of(phase));
    }
    if (!progress.seconds_left || !around_.progress.due()) return;
    const double all = progress.elapsed_seconds + *progress.seconds_left;
    if (all > 0)
      around_.progress.update(progress.elapsed_seconds / all,
                              fmt::format("{} samples/s", format_si(throughput())));
  }

  [[nodiscard]] double throughput() const {
    const auto samples = static_cast<double>(record_.strategy.global_batch.value_or(0));
    return steps_.pace() > 0 ? samples / steps_.pace() : 0;
  }

  void report_hellos() {
    const ProgramRanks& ranks = program_.server().ranks();
    const ProgramHello& first = *ranks.hellos().front();
    record_.engine.version = first.framework;
    // DataParallel has several replicas in a process, which another engine's configuration knows.
    if (config_.options.program) record_.strategy.world_size = std::ssize(ranks.hellos());
    record_.strategy.devices.resize(static_cast<std::size_t>(record_.strategy.world_size), "cpu");
    for (const auto& hello : ranks.hellos())
      if (hello->device)
        record_.strategy.devices.at(static_cast<std::size_t>(hello->rank)) = *hello->device;
    record_.strategy.global_batch = ranks.samples();
    record_.workload.tokens_per_step = ranks.tokens();
    if (!record_.strategy.batch_per_replica) record_.strategy.batch_per_replica = first.samples;
    if (first.precision && !options_.precision) record_.strategy.precision = *first.precision;
    warn_of_other_batch(ranks.samples());
  }

  /// The throughput is right, and the row is called wrongly.
  void warn_of_other_batch(Size told) {
    const std::optional<Size>& asked = config_.program->global_batch;
    if (!asked || *asked == told) return;
    record_.warnings.push_back(
        {.code = "other-batch",
         .message =
             fmt::format("the program says that a step has {} samples, but it was told to use {}",
                         told, *asked),
         .remedy =
             "Let the script use the batch that it is given, and report the samples of a step."});
  }

  /// What helpers do while the program rests is not a part of any step.
  void warn_of_helpers() {
    if (steps_.usual_help() == 0) return;
    record_.warnings.push_back(
        {.code = "loads-ahead",
         .message =
             fmt::format("other processes, such as data loaders, kept working for {:.2g} s while "
                         "the ranks had to wait: what they prepared then cost the next steps "
                         "nothing, and steps that usually wait for them may look too short",
                         steps_.usual_help()),
         .remedy = "Compare with a run that loads within its steps (num_workers=0)."});
  }

  void report_losses() {
    record_.loss.first = program_.server().ranks().first_loss();
    record_.loss.last = program_.server().ranks().last_loss();
  }

  /// While its processes are there.
  void report_ranks() {
    const ProgramServer& server = program_.server();
    if (const auto memory = memory_of(descendants())) record_.memory.peak_bytes = memory->peak;
    for (Size rank = 0; rank < record_.strategy.world_size; ++rank)
      record_.ranks.push_back(
          {.rank = rank,
           .host = host_name(),
           .device = record_.strategy.devices.at(static_cast<std::size_t>(rank)),
           .peak_memory_bytes = peak_memory_of(server.process_of(rank))});
  }

  /// In steps of their own, since telling phases takes time.
  void observe_phases() {
    if (options_.orders.pass == RunPass::next || steps_.pace() <= 0) return;
    Size steps = std::clamp(static_cast<Size>(std::ceil(kPhaseSeconds / steps_.pace())),
                            kFewestPhaseSteps, kMostPhaseSteps);
    const TraceWindow window = options_.trace_window.value_or(TraceWindow());
    if (around_.files.trace() != nullptr) steps = window.count + 1;
    steps_.observe(steps);
    const auto& observed = program_.server().ranks().observed();
    record_.phases_seconds = phases_of(observed.front());
    for (std::size_t rank = 0; rank < observed.size(); ++rank)
      record_.ranks.at(rank).compute_seconds = compute_seconds_of(phases_of(observed[rank]));
    add_straggler_warning(record_);
    if (OutputFile* file = around_.files.trace()) write_traces(*file, observed, window);
  }

  void write_traces(OutputFile& first, const std::vector<ProgramRanks::Observed>& observed,
                    const TraceWindow& window) {
    for (std::size_t rank = 0; rank < observed.size(); ++rank) {
      const std::string text =
          to_trace_json(origin_of(static_cast<Size>(rank), window), trace_of(observed[rank]));
      if (rank == 0) {
        first.commit(text);
        continue;
      }
      OutputFile file(trace_path(*options_.trace, static_cast<Size>(rank)));
      file.commit(text);
    }
  }

  [[nodiscard]] TraceOrigin origin_of(Size rank, const TraceWindow& window) const {
    const double zero = unix_seconds() - around_.clock.now();
    return {.run = config_.id,
            .version = build_info().version,
            .rank = rank,
            .world_size = record_.strategy.world_size,
            .communicator = "program",
            .device = record_.strategy.devices.at(static_cast<std::size_t>(rank)),
            .clock = {.identity = steady_clock_identity(),
                      .unix_at_zero = static_cast<std::int64_t>(std::llround(1e9 * zero))},
            .window = window};
  }

  void warn_of_lingering() {
    record_.warnings.push_back(
        {.code = "program-killed",
         .message =
             fmt::format("the program had not ended {:g} s after its last step, and was killed",
                         options_.timeout_seconds),
         .remedy = "Let it end after its loop, or give a longer --timeout."});
  }

  /// It ended by itself before it had done what was to be measured.
  void judge_early_end(const Samples& samples) {
    const Size steps = program_.server().ranks().done();
    if (samples.stop_reason) return;
    if (samples.slices.empty() || options_.orders.turns)
      throw run_error(
          fmt::format("the program ended by itself after {} steps, before enough was measured",
                      steps),
          "let its loop run until ptbench ends it, or measure fewer --steps");
    record_.warnings.push_back(
        {.code = "program-ended",
         .message = fmt::format("the program ended by itself after {} steps: what was measured by "
                                "then counts",
                                steps),
         .remedy = "Let its loop run until ptbench ends it."});
  }

  const RunConfig& config_;
  const RunOptions& options_;
  const RunSurroundings& around_;
  RunRecord& record_;
  RunWatch watch_;
  RunningProgram program_;
  ProgramSteps steps_;
  ProgramProbe probe_;
};

}  // namespace

void measure_program(const RunConfig& config, const RunSurroundings& around, RunRecord& record) {
  ProgramRun(config, around, record).run();
}

}  // namespace ptbench

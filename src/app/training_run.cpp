#include "src/app/training_run.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kernels/choose.h"
#include "kernels/cpu/cpu_backend.h"
#include "src/app/memory_limit.h"
#include "src/app/plan_store.h"
#include "src/base/error.h"
#include "src/base/phase_board.h"
#include "src/comm/solo.h"
#include "src/data/source.h"
#include "src/device/cpu_load.h"
#include "src/device/device.h"
#include "src/measure/plan_measuring.h"
#include "src/measure/sampling.h"
#include "src/measure/summarize_run.h"
#include "strategies/evaluate.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

/// The signal came between two pieces of work; what the record holds by then stays.
struct Interrupted {};

class TrainingRun {
 public:
  TrainingRun(const RunConfig& config, const Topology& topology, const RunSurroundings& around,
              RunRecord& record)
      : config_(config), around_(around), record_(record), topology_(topology) {}

  void run() {
    try {
      const DataSource data = load_data();
      const Graph graph = config_.workload.build(data.train.sample_shape());
      describe_workload(graph);
      CpuDevice device(topology_, config_.threads);
      const CpuBackend backend(device);
      auto plan = plan_program(graph, backend, device);
      SoloCommunicator communicator(device.memory());
      const auto strategy = build_strategy(plan, backend, device, communicator, data);
      start_weights(strategy->replica().program());
      const Samples samples = measure_steps(*strategy);
      record_.compute.peak_flops_per_second = backend.measure_peak_flops(around_.clock);
      record_.compute.peak_source =
          fmt::format("measured: fp32 multiply-adds, threads: {}", config_.threads);
      summarize_run(samples, record_);
      if (!samples.interrupted) finish(strategy->replica().program(), data);
    } catch (const Interrupted&) {
      record_.status = Status::interrupted;
    }
    around_.progress.clear();
    if (record_.status == Status::interrupted)
      record_.reason = fmt::format("interrupted by a signal while {}", name_of(board_.phase(0)));
    record_.memory.peak_bytes = peak_resident_memory();
  }

 private:
  void enter(RankPhase phase) {
    board_.enter(0, phase);
    around_.progress.begin(name_of(phase));
    if (around_.interrupt.requested()) throw Interrupted{};
  }

  /// A predicate for work in pieces.
  [[nodiscard]] std::function<bool()> not_interrupted() const {
    return [this] { return !around_.interrupt.requested(); };
  }

  DataSource load_data() {
    enter(RankPhase::loading_data);
    const Workload& workload = config_.workload;
    const bool synthetic = config_.synthetic_samples > 0;
    if (synthetic) require_memory(config_, workload.build(workload.input_shape));
    DataSource data = synthetic ? synthetic_data({.sample_shape = workload.input_shape,
                                                  .classes = workload.classes,
                                                  .samples = config_.synthetic_samples,
                                                  .seed = config_.options.seed})
                                : load_directory(config_.options.data);
    check_labels(data, workload.classes);
    if (!synthetic) require_memory(config_, workload.build(data.train.sample_shape()));
    record_.data.source = data.source;
    record_.data.samples = data.train.size();
    record_.data.mean = data.mean;
    record_.data.standard_deviation = data.standard_deviation;
    record_.data.workers = 0;
    return data;
  }

  void describe_workload(const Graph& graph) {
    record_.workload.parameters = graph.parameter_count();
    record_.workload.flops_per_sample = graph.flops_per_sample();
    const auto dimensions = graph.input_shape.dimensions();
    record_.workload.input_shape.assign(dimensions.begin(), dimensions.end());
  }

  std::shared_ptr<const ProgramPlan> plan_program(const Graph& graph, const KernelBackend& backend,
                                                  Device& device) {
    enter(RankPhase::choosing);
    std::vector<OperatorSpec> specs;
    for (const LoweredOperator& lowered : lower(graph, config_.batch, config_.global_batch))
      specs.push_back(lowered.spec);
    PlanStore store = config_.options.plan_file
                          ? PlanStore::of_file(*config_.options.plan_file, backend.fingerprint())
                          : PlanStore::of_host(backend.fingerprint());
    const CpuLoad load;
    const Choices choices =
        choose(backend, specs, store.load(), device.memory(), around_.clock, not_interrupted());
    enter(RankPhase::planning);
    auto plan = std::make_shared<const ProgramPlan>(graph, config_.batch, config_.global_batch,
                                                    backend, choices);
    keep(choices, store, load.foreign_share().value_or(0));
    record_.strategy.plan_hash = plan->hash();
    record_.memory.predicted_bytes = plan->memory(config_.optimizer).total();
    return plan;
  }

  /// Choices that were timed beside other work would slow down every later run: they serve this
  /// one.
  void keep(const Choices& choices, const PlanStore& store, double foreign_share) {
    constexpr double kQuiet = 0.1;
    if (!store.lacks(choices)) return;
    if (foreign_share <= kQuiet || store.named_by_user()) store.save(choices);
    if (foreign_share > kQuiet)
      record_.warnings.push_back(
          {.code = "operators-chosen-under-load",
           .message = fmt::format("other programs used {:.0f} % of the cores while operators were "
                                  "timed: slower ones may have been chosen",
                                  100 * foreign_share),
           .remedy = store.named_by_user()
                         ? "Remove the plan file and run again on a quiet machine."
                         : "Run again on a quiet machine."});
  }

  std::unique_ptr<Strategy> build_strategy(const std::shared_ptr<const ProgramPlan>& plan,
                                           const KernelBackend& backend, CpuDevice& device,
                                           Communicator& communicator, const DataSource& data) {
    Sampler sampler(data.train.size(), {.micro_batch = config_.batch}, config_.options.shuffle,
                    config_.options.seed);
    steps_per_epoch_ = sampler.steps_per_epoch();
    record_.data.samples_left_out = sampler.samples_left_out();
    auto replica = std::make_unique<Replica>(plan, backend, config_.optimizer,
                                             communicator.memory(), device.memory());
    Program& program = replica->program();
    replica->attach(std::make_unique<BatchLoader>(data.train, std::move(sampler), program.input(),
                                                  program.labels(), &device.team()));
    record_.strategy.communicator = communicator.name();
    StrategyContext context{.replicas = {}, .communicator = communicator};
    context.replicas.push_back(std::move(replica));
    return config_.strategy.build(std::move(context));
  }

  void start_weights(Program& program) {
    if (config_.options.initial_weights) {
      const std::string& path = *config_.options.initial_weights;
      const std::vector<NamedTensor> tensors = read_weights(path);
      std::vector<NamedTensor> ordered;
      for (const NamedTensor* tensor : match_weights(tensors, program.plan().parameters(), path))
        ordered.push_back(*tensor);
      program.import_parameters(ordered);
    } else {
      program.initialise(config_.options.seed);
    }
    if (OutputFile* file = around_.files.initial_weights())
      file->commit(serialize_weights(program.export_parameters()));
  }

  Samples measure_steps(Strategy& strategy) {
    RunLength length{.steps = config_.options.steps,
                     .epoch_steps = std::nullopt,
                     .warmup = config_.options.warmup,
                     .max_time_seconds = config_.options.max_time_seconds};
    if (config_.options.epochs) length.epoch_steps = *config_.options.epochs * steps_per_epoch_;
    const MeasuringPlan measuring = plan_measuring(length);
    enter(RankPhase::warming_up);
    return measure([&] { train_step(strategy); }, measuring.config, *measuring.rule, around_.clock,
                   [this] { return around_.interrupt.requested(); },
                   [this](const SamplingProgress& progress) { show(progress); });
  }

  void train_step(Strategy& strategy) {
    const float loss = strategy.step();
    if (LossLog* log = around_.files.loss_log()) log->append(loss);
    if (!std::isfinite(loss)) {
      record_.warnings.push_back({.code = "non-finite-loss",
                                  .message = "training diverged",
                                  .remedy = "Choose a smaller --lr."});
      throw run_error(fmt::format("the loss of step {} is {}", strategy.steps(), loss),
                      "choose a smaller --lr");
    }
    if (strategy.steps() == 1) record_.loss.first = loss;
    record_.loss.last = loss;
  }

  void show(const SamplingProgress& progress) {
    const RankPhase phase = progress.warming_up ? RankPhase::warming_up : RankPhase::measuring;
    if (board_.phase(0) != phase) {
      board_.enter(0, phase);
      around_.progress.begin(name_of(phase));
    }
    if (progress.seconds_left) {
      const double all = progress.elapsed_seconds + *progress.seconds_left;
      if (all > 0) around_.progress.update(progress.elapsed_seconds / all);
    }
    if (LossLog* log = around_.files.loss_log()) log->flush();
  }

  void finish(Program& program, const DataSource& data) {
    if (OutputFile* file = around_.files.final_weights())
      file->commit(serialize_weights(program.export_parameters()));
    if (config_.synthetic_samples > 0) return;  // accuracy on noise says nothing
    enter(RankPhase::evaluating);
    record_.accuracy = AccuracyRecord{.train = accuracy(program, data.train, not_interrupted()),
                                      .test = accuracy(program, data.test, not_interrupted())};
  }

  const RunConfig& config_;
  const RunSurroundings& around_;
  RunRecord& record_;
  const Topology& topology_;
  std::array<PhaseBoard::Slot, 1> slots_{};
  PhaseBoard board_{slots_};
  Size steps_per_epoch_ = 0;
};

}  // namespace

void train_and_measure(const RunConfig& config, const Topology& topology,
                       const RunSurroundings& surroundings, RunRecord& record) {
  TrainingRun(config, topology, surroundings, record).run();
}

}  // namespace ptbench

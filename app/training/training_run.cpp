#include "app/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/config/run_progress.h"
#include "app/training/first_look.h"
#include "app/training/host_link.h"
#include "app/training/rank_memory.h"
#include "app/training/rank_probe.h"
#include "app/training/run_choices.h"
#include "app/training/run_report.h"
#include "app/training/timed_steps.h"
#include "app/training/traced_steps.h"
#include "app/training/training_setup.h"
#include "app/training/verification.h"
#include "kernels/site.h"
#include "src/comm/communicator_catalog.h"
#include "src/comm/control_channel.h"
#include "src/data/source.h"
#include "src/device/device.h"
#include "src/device/quiet.h"
#include "src/measure/device_warnings.h"
#include "src/measure/machine_probe.h"
#include "src/measure/step_phases.h"
#include "strategies/conductor.h"
#include "strategies/drag.h"
#include "strategies/evaluate.h"
#include "strategies/phase_pass.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

/// This process's part of a run: prepares the context, and then plays the script of all ranks.
class TrainingRun {
 public:
  TrainingRun(const RunConfig& config, const Topology& topology, const RunSurroundings& around,
              RunRecord& record)
      : config_(config),
        around_(around),
        record_(record),
        topology_(topology),
        watch_(around, config.rank()) {}

  void run() {
    try {
      train();
    } catch (const Interrupted&) {
      record_.status = Status::interrupted;
    }
    around_.progress.clear();
    if (record_.status == Status::interrupted)
      record_.reason = fmt::format("stopped by a signal while {}", name_of(watch_.phase()));
    if (trains_ && config_.device.is_cpu() && !record_.memory.peak_bytes)
      record_.memory.peak_bytes = peak_resident_memory().total();
  }

 private:
  void train() {
    watch_.enter(RankPhase::loading_data);
    const DataSource data = load_data(config_);
    report_data(data, config_, record_);
    const Graph graph = config_.workload.build(data.train.sample_shape());
    report_workload(graph, record_);
    const SiteChoice host = site_choice("cpu");
    const Site site = open_site(site_of_first_replica());
    RankCommunicators alone = talk_to_nobody(*site.device);
    ControlChannel alone_control(std::move(alone.control));
    const auto replica_devices = other_devices();
    RankCommunicators group = join_group(*site.device);
    ControlChannel control(std::move(group.control));
    TrainingContext context{.config = config_,
                            .graph = graph,
                            .data = data.train,
                            .site = site,
                            .communicator = *group.data,
                            .control = control,
                            .alone = *alone.data,
                            .alone_control = alone_control,
                            .data_parallel = config_.data_parallel,
                            .replica_devices = replica_devices.get(),
                            .clock = around_.clock,
                            .host = host};
    const TrainingShape shape = shape_of(config_, config_.rank());
    const Sampler sampler = sampler_of(context, shape);
    steps_per_epoch_ = sampler.steps_per_epoch();
    record_.data.samples_left_out = sampler.samples_left_out();
    const VerificationPlan check = plan_verification(context, shape);
    facts_.before = memory_in_use(*site.device);
    record_.memory.before_bytes = facts_.before.total();
    Conductor conductor(control, config_.data_parallel.timeout);
    play(RankRole(conductor), context, shape, check, data);
    // A library that ends in company (MPI) would wait for a launcher that ends itself.
    if (record_.status == Status::interrupted) watch_.give_up_interrupted();
  }

  /// The script. All ranks pass each of its lines and do there what is their part; what only rank 0
  /// knows, it decides for all. Rank 0's record is the run's.
  void play(const RankRole& role, TrainingContext& context, const TrainingShape& shape,
            const VerificationPlan& check, const DataSource& data) {
    RunChoices chosen(context, role, watch_, record_);
    if (role.decide([&] { return looks_first(shape, check, chosen); }))
      take_first_look(role, context, shape, chosen.guess_operators(shape), watch_,
                      around_.progress);
    Choices choices = chosen.choose_operators(shape, check);
    plan(context, shape, choices);
    context.data_parallel = chosen.decide_communication(shape, plan_, choices);
    if (role.decide([&] { return check.oracle.has_value(); }))
      verify(role, context, check);
    else if (role.leads())
      report_unverified(check, config_.options.verify, record_);
    if (!role.decide([&] { return measures(); })) return;
    train_timed(role, context, shape, data);
    if (role.decide([&] { return times_phases(); })) {
      time_phases(role, context, shape);
      if (around_.apart != nullptr) measure_link(role, context);
    }
    if (role.decide([&] { return traces(); })) trace(role, context, shape);
    report_ranks(gather_facts(context.control, facts_, Communicator::kLongWork), replicas_,
                 shared_bytes_, record_);
    if (around_.apart != nullptr) report_hosts(around_.apart->hosts, record_);
    if (!config_.device.is_cpu()) record_.memory.before_bytes.reset();  // nothing is resident there
  }

  /// The devices of replicas of this process besides the first; null where it has one.
  std::unique_ptr<ReplicaDevices> other_devices() {
    if (!config_.strategy.one_process || config_.options.nproc == 1) return nullptr;
    return std::make_unique<ReplicaDevices>(site_choice(config_.device.id), config_.options.nproc,
                                            site_catalog(), config_.device.of_replicas);
  }

  /// Where this rank's replica trains, or the first one of this process.
  [[nodiscard]] SiteChoice site_choice(const std::string& device) const {
    return {.device = device,
            .topology = topology_,
            .threads = config_.threads,
            .first_core = config_.first_core()};
  }

  /// A master copies from and to the other replicas.
  [[nodiscard]] SiteChoice site_of_first_replica() const {
    SiteChoice choice = site_choice(config_.device.id);
    if (config_.strategy.one_process) choice.peers = config_.device.of_replicas;
    return choice;
  }

  static RankCommunicators talk_to_nobody(Device& device) {
    return find_communicator(kAutomaticCommunicator, 1).make({.memory = device.memory()});
  }

  /// The group of ranks that this process is one of; where it has none, a world of one.
  RankCommunicators join_group(Device& device) {
    if (around_.region == nullptr) return talk_to_nobody(device);
    const auto row = find_communicator(config_.options.communicator, around_.region->world_size(),
                                       !config_.device.is_cpu());
    return row.make({.memory = device.memory(),
                     .region = around_.region,
                     .rank = config_.rank(),
                     .device = &device,
                     .timeout = config_.data_parallel.timeout,
                     .interface = config_.options.interface,
                     .apart = around_.apart});
  }

  void plan(const TrainingContext& context, const TrainingShape& shape, const Choices& choices) {
    watch_.enter(RankPhase::planning);
    plan_ = std::make_shared<const ProgramPlan>(context.graph, shape.lowering(), context.backend(),
                                                choices);
    record_.strategy.plan_hash = plan_->hash();
    record_.compute.executed_flops_per_step =  // where shares differ, as if all did as rank 0
        plan_->executed_flops() / static_cast<double>(plan_->batch()) *
        static_cast<double>(config_.batch.global_batch());
    record_.strategy.communicator = context.communicator.name();
    record_.strategy.sends_values = context.communicator.sends_values();
    predict_memory(*plan_, context, shape, facts_);
  }

  /// What this rank's host shares beside the region of all ranks; each host's first rank counts it.
  [[nodiscard]] Bytes shared_with_host() const {
    if (around_.apart == nullptr || !around_.apart->shared) return 0;
    const RanksOfHosts& shared = *around_.apart->shared;
    return shared.leader_of(shared.own) == config_.rank() ? used_bytes(shared.region) : 0;
  }

  void verify(const RankRole& role, const TrainingContext& context, const VerificationPlan& check) {
    watch_.enter(RankPhase::verifying);
    Size compared = 0;  // steps, of which some may be skipped by loss scaling
    const auto keep_going = [&] {
      ++compared;
      watch_.count(compared, std::max(compared + 1, kAppliedSteps));
      return !watch_.is_interrupted();
    };
    Verified found = run_verification(role, context, check, plan_, keep_going);
    if (!role.leads()) return;
    record_.verification = std::move(found.record);
    if (std::optional<WarningRecord> warning = warning_of_pace(record_.strategy, found.steps))
      record_.warnings.push_back(*std::move(warning));
    watch_.stop_if_interrupted();
    report_verified(record_);
  }

  /// On rank 0: whether anybody waits for a first figure, which choosing or verifying would delay.
  [[nodiscard]] bool looks_first(const TrainingShape& shape, const VerificationPlan& check,
                                 RunChoices& chosen) const {
    const bool prepares = config_.options.orders.pass == RunPass::all ||
                          config_.options.orders.pass == RunPass::prepare;
    const Size cores =
        std::min(config_.threads * config_.options.nproc, std::ssize(topology_.cores));
    const double flops = record_.workload.flops_per_sample.value_or(0) *
                         static_cast<double>(config_.batch.global_batch());
    return prepares && around_.progress.visible() && !config_.device.is_emulated &&
           is_short_step(flops, cores) &&
           (check.oracle.has_value() || !chosen.knows_operators(shape));
  }

  /// On rank 0: whether there is anything to time.
  [[nodiscard]] bool measures() const {
    return record_.status == Status::ok && config_.options.verify != VerifyMode::only &&
           config_.options.orders.pass != RunPass::prepare;
  }

  void train_timed(const RankRole& role, const TrainingContext& context, const TrainingShape& shape,
                   const DataSource& data) {
    around_.progress.keep({});  // from now on figures are measured
    const auto strategy = build(context, shape);
    StepDrag drag(step_drag(context), *strategy, config_.options.slowdown_turns.value_or(0));
    const auto probe = rank_probe(role, context);
    Samples samples;
    watch_.enter(role.leads() ? RankPhase::warming_up : RankPhase::measuring);
    role.in_step(
        *strategy, [&] { samples = time_steps(role, context, *strategy, drag, data, probe.get()); },
        {.look = [&] { probe->contribute(); }, .rest = [&] { come_to_rest(context.device()); }});
    // All ranks compare, since only a comparison looks at steps that nobody else does.
    const auto parted =
        first_differing_rank(*strategy, context.control, config_.data_parallel.timeout);
    if (role.leads()) report(samples, parted, context, *strategy, data);
    facts_.peak = peak_memory(context.device());
    facts_.peak.own += shared_with_host();
  }

  /// With data attached and the run's initial weights.
  std::unique_ptr<Strategy> build(const TrainingContext& context, const TrainingShape& shape) {
    auto strategy = build_training(context, shape, plan_);
    Program& program = strategy->replica().program();
    start_weights(config_, program);
    if (OutputFile* file = around_.files.initial_weights())
      file->commit(serialize_weights(program.export_tensors()));
    record_.strategy.graph = config_.graph && strategy->record_steps();
    reset_peak_memory(context.device());  // choosing, verifying, drawing weights are no training
    trains_ = true;
    return strategy;
  }

  /// Who looks at all ranks' cores; null where there is one rank.
  std::unique_ptr<RankProbe> rank_probe(const RankRole& role, const TrainingContext& context) {
    if (around_.region == nullptr) return nullptr;
    return std::make_unique<RankProbe>(
        RankProbe::Ranks{.region = *around_.region, .apart = around_.apart}, context.control,
        role.conductor(), context.device(), config_.data_parallel.timeout);
  }

  /// On rank 0. `ranks` looks at the others' cores; null where there are none.
  Samples time_steps(const RankRole& role, const TrainingContext& context, Strategy& strategy,
                     StepDrag& drag, const DataSource& data, RankProbe* ranks) {
    ProbePeers* peers =
        ranks != nullptr ? static_cast<ProbePeers*>(ranks) : context.replica_devices;
    MachineProbe probe(context.device(), peers);
    if (const auto gap = context.device().throttling_gap())
      add_watch_warning(record_, context.device().id(), *gap);
    TimedSteps steps(config_, around_, watch_, record_);
    Samples samples =
        steps.measure(strategy, drag, data, steps_per_epoch_, probe, role.conductor());
    if (around_.region != nullptr && context.device().shares_memory_with_host())
      shared_bytes_ = used_bytes(*around_.region);
    return samples;
  }

  /// On rank 0. `parted`: a rank whose parameters are others than rank 0's.
  void report(const Samples& samples, std::optional<Size> parted, const TrainingContext& context,
              Strategy& strategy, const DataSource& data) {
    if (parted) {
      report_parted(*parted, record_);
      return;
    }
    report_steps(samples, strategy, config_,
                 {.backend = context.backend(),
                  .clock = around_.clock,
                  .cores = static_cast<Size>(topology_.cores.size())},
                 record_);
    if (record_.status == Status::ok) finish(strategy.replica().program(), data);
  }

  void finish(Program& program, const DataSource& data) {
    if (OutputFile* file = around_.files.final_weights())
      file->commit(serialize_weights(program.export_tensors()));
    if (config_.synthetic_samples > 0) return;  // accuracy on noise says nothing
    watch_.enter(RankPhase::evaluating);
    record_.accuracy = AccuracyRecord{.train = accuracy(program, data.train, watch_.keep_going()),
                                      .test = accuracy(program, data.test, watch_.keep_going())};
    watch_.stop_if_interrupted();
  }

  /// On rank 0. Later repetitions leave the phases to the first.
  [[nodiscard]] bool times_phases() const {
    return record_.status == Status::ok && config_.options.orders.pass != RunPass::next &&
           !config_.device.is_emulated;
  }

  /// On a copy, so that neither weights nor samples know of it.
  void time_phases(const RankRole& role, const TrainingContext& context,
                   const TrainingShape& shape) {
    watch_.enter(RankPhase::timing_phases);
    const auto copy = build_training(context, shape, plan_);
    start_weights(config_, copy->replica().program());
    PhaseTimer timer(around_.clock, &copy->replica().queue());
    role.in_step(*copy,
                 [&] {
                   ObservedSteps steps = measure_phases(*copy, around_.clock, watch_.keep_going());
                   record_.phases_seconds = steps.phases;
                   replicas_ = std::move(steps.replicas);
                 },
                 {.timer = &timer});
    if (!role.leads()) replicas_ = copy->replica_seconds();
    copy->observe(nullptr);  // the timer ends before the copy
    facts_.observed = !replicas_.empty();
    if (facts_.observed) facts_.seconds = replicas_.front();
    if (role.leads()) watch_.stop_if_interrupted();
  }

  /// When the steps are over, which know nothing of it.
  void measure_link(const RankRole& role, const TrainingContext& context) {
    LinkRecord link = measure_host_link(role,
                                        {.communicator = context.communicator,
                                         .device = context.device(),
                                         .clock = around_.clock,
                                         .timeout = config_.data_parallel.timeout},
                                        around_.apart->hosts);
    if (role.leads()) record_.link = std::move(link);
  }

  /// On rank 0; all ranks have the option, or none.
  [[nodiscard]] bool traces() const {
    return record_.status == Status::ok && around_.files.trace() != nullptr;
  }

  void trace(const RankRole& role, const TrainingContext& context, const TrainingShape& shape) {
    watch_.enter(RankPhase::tracing);
    OutputFile* file = around_.files.trace();
    ensure(file != nullptr, "all ranks trace, or none");
    trace_training(role, context, shape, plan_, watch_, *file, record_);
  }

  const RunConfig& config_;
  const RunSurroundings& around_;
  RunRecord& record_;
  const Topology& topology_;
  RunProgress watch_;
  Size steps_per_epoch_ = 0;
  bool trains_ = false;                   ///< the peak of memory is that of training
  Bytes shared_bytes_ = 0;                ///< of the memory that ranks share, while they trained
  RankFacts facts_;                       ///< of this process
  std::vector<ReplicaSeconds> replicas_;  ///< of this process
  std::shared_ptr<const ProgramPlan> plan_;
};

}  // namespace

void train_and_measure(const RunConfig& config, const Topology& topology,
                       const RunSurroundings& surroundings, RunRecord& record) {
  TrainingRun(config, topology, surroundings, record).run();
}

}  // namespace ptbench

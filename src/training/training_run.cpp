#include "src/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "kernels/choose.h"
#include "kernels/cpu/cpu_backend.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/phase_board.h"
#include "src/base/units.h"
#include "src/comm/shared_memory.h"
#include "src/comm/solo.h"
#include "src/config/memory_limit.h"
#include "src/data/source.h"
#include "src/device/cpu_load.h"
#include "src/device/device.h"
#include "src/device/quiet.h"
#include "src/judge/scaling.h"
#include "src/measure/machine_probe.h"
#include "src/measure/noise_warnings.h"
#include "src/measure/plan_measuring.h"
#include "src/measure/pool_runs.h"
#include "src/measure/prior_noise.h"
#include "src/measure/repetition.h"
#include "src/measure/sampling.h"
#include "src/measure/step_protocol.h"
#include "src/measure/summarize_run.h"
#include "src/training/communication_choice.h"
#include "src/training/plan_store.h"
#include "src/training/rank_facts.h"
#include "src/training/rank_probe.h"
#include "src/training/shared_choices.h"
#include "src/training/step_pace.h"
#include "src/training/target_watch.h"
#include "src/training/training_setup.h"
#include "src/training/verification.h"
#include "strategies/conductor.h"
#include "strategies/dp.h"
#include "strategies/evaluate.h"
#include "strategies/phase_pass.h"
#include "strategies/verify.h"
#include "workloads/graph_digest.h"
#include "workloads/layout_digest.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

/// The signal came between two pieces of work; what the record holds by then stays.
struct Interrupted {};

/// Foreign share of the cores up to which what was timed serves later runs too.
constexpr double kQuiet = 0.1;

class TrainingRun {
 public:
  TrainingRun(const RunConfig& config, const Topology& topology, const RunSurroundings& around,
              RunRecord& record)
      : config_(config),
        around_(around),
        record_(record),
        topology_(topology),
        board_(around.region != nullptr ? around.region->phases() : std::span(own_slot_)) {}

  void run() {
    try {
      train();
    } catch (const Interrupted&) {
      record_.status = Status::interrupted;
    }
    around_.progress.clear();
    if (record_.status == Status::interrupted)
      record_.reason =
          fmt::format("interrupted by a signal while {}", name_of(board_.phase(config_.rank())));
    if (trains_ && !record_.memory.peak_bytes)
      record_.memory.peak_bytes = peak_resident_memory().total();
  }

 private:
  void enter(RankPhase phase) {
    board_.enter(config_.rank(), phase);
    around_.progress.begin(name_of(phase));
    if (config_.rank() == 0) stop_if_interrupted();  // which lets the others know
  }

  void stop_if_interrupted() const {
    if (!around_.interrupt.requested()) return;
    if (around_.region != nullptr) around_.region->give_up(config_.rank(), kInterruptedReason);
    throw Interrupted{};
  }

  /// A predicate for work in pieces.
  [[nodiscard]] std::function<bool()> not_interrupted() const {
    return [this] { return !around_.interrupt.requested(); };
  }

  void train() {
    const DataSource data = load_data();
    const Graph graph = config_.workload.build(data.train.sample_shape());
    describe_workload(graph);
    CpuDevice device(topology_, config_.threads, config_.first_core());
    const CpuBackend backend(device);
    SoloCommunicator alone(device.memory());
    const auto replica_devices = other_devices();
    const auto group = join_group(device.team());
    Communicator& communicator = group ? static_cast<Communicator&>(*group) : alone;
    TrainingGround ground{.config = config_,
                          .graph = graph,
                          .data = data.train,
                          .backend = backend,
                          .device = device,
                          .communicator = communicator,
                          .alone = alone,
                          .data_parallel = config_.data_parallel,
                          .replica_devices = replica_devices.get(),
                          .clock = around_.clock};
    const TrainingShape shape = shape_of(config_, config_.rank());
    describe_sampling(sampler_of(ground, shape));
    const VerificationPlan check = plan_verification(ground, shape);
    facts_.before = resident_memory();
    record_.memory.before_bytes = facts_.before.total();
    Conductor conductor(communicator, config_.data_parallel.timeout);
    if (conductor.leads())
      lead(ground, shape, check, data, conductor);
    else
      follow(ground, shape, check, conductor);
  }

  /// Of replicas of this process besides the first; null where it has one.
  std::unique_ptr<ReplicaDevices> other_devices() {
    if (!config_.strategy.one_process || config_.options.nproc == 1) return nullptr;
    return std::make_unique<ReplicaDevices>(topology_, config_.threads, config_.options.nproc);
  }

  /// The group of ranks that this process is one of; null where it is alone.
  std::unique_ptr<SharedMemoryCommunicator> join_group(Team& team) {
    if (around_.region == nullptr) return nullptr;
    return std::make_unique<SharedMemoryCommunicator>(*around_.region, config_.rank(), &team);
  }

  /// Rank 0, which decides for all, or the only one.
  void lead(TrainingGround& ground, const TrainingShape& shape, const VerificationPlan& check,
            const DataSource& data, Conductor& conductor) {
    Choices choices =
        share_choices(ground.communicator,
                      with_one_layout(ground, shape, choose_operators(ground, shape, check)));
    plan_training(ground, shape, choices);
    decide_communication(ground, shape, choices, conductor);
    (void)conductor.agree(check.oracle.has_value());
    const bool right = verified(ground, check, conductor);
    const bool measures =
        right && config_.options.verify != VerifyMode::only && pass() != RunPass::prepare;
    if (!conductor.agree(measures)) return;
    auto strategy = build(ground, shape);
    const auto probe = rank_probe(ground, conductor);
    ProbePeers* peers = probe ? static_cast<ProbePeers*>(probe.get()) : ground.replica_devices;
    conductor.lead(*strategy);
    const Samples samples = measure_steps(*strategy, data, ground.device.team(), peers, conductor);
    if (around_.region != nullptr) shared_bytes_ = used_bytes(*around_.region);  // of all ranks
    conductor.stop();
    if (const auto rank = differing_rank(*strategy, ground.communicator))
      fail_parted(*rank);
    else
      summarize(samples, ground.backend, *strategy);
    if (record_.status == Status::ok) finish(strategy->replica().program(), data);
    note_peak_memory();
    strategy.reset();
    const bool times_phases = record_.status == Status::ok && pass() != RunPass::next;
    if (conductor.agree(times_phases)) time_phases(ground, shape, conductor);
    collect_ranks(ground.communicator);
  }

  /// The other ranks: the same trainings, step by step with rank 0.
  void follow(TrainingGround& ground, const TrainingShape& shape, const VerificationPlan& check,
              Conductor& conductor) {
    enter(RankPhase::choosing);
    Choices choices = share_choices(ground.communicator, {});
    plan_training(ground, shape, choices);
    decide_communication(ground, shape, choices, conductor);
    if (conductor.agree(false)) {
      enter(RankPhase::verifying);
      follow_verification(ground, check, plan_, conductor);
    }
    if (!conductor.agree(false)) return;
    auto strategy = build(ground, shape);
    const auto probe = rank_probe(ground, conductor);
    enter(RankPhase::measuring);
    conductor.follow(*strategy, {.timer = nullptr,
                                 .look = [&] { probe->contribute(); },
                                 .rest = [] { (void)wait_until_quiet(); }});
    (void)differing_rank(*strategy, ground.communicator);
    note_peak_memory();
    strategy.reset();
    if (conductor.agree(false)) {
      enter(RankPhase::timing_phases);
      const auto copy = build_training(ground, shape, plan_);
      start_weights(config_, copy->replica().program());
      PhaseTimer timer(around_.clock);
      conductor.follow(*copy, {.timer = &timer, .look = {}});
      note_seconds(copy->replica_seconds());
      copy->observe(nullptr);
    }
    collect_ranks(ground.communicator);
  }

  /// After the steps that were timed: which rank has other parameters than rank 0. All ranks call
  /// it, since only a comparison looks at steps that nobody else does.
  [[nodiscard]] std::optional<Size> differing_rank(Strategy& strategy,
                                                   Communicator& communicator) const {
    return first_differing_rank(strategy, communicator, config_.data_parallel.timeout);
  }

  /// What was timed is no training: nothing of it is kept.
  void fail_parted(Size rank) {
    fail_verification(record_, fmt::format("does not match serial training: after the timed steps "
                                           "the parameters of rank {} differ from rank 0's",
                                           rank));
  }

  /// Who looks at all ranks' cores; null where there is one rank.
  std::unique_ptr<RankProbe> rank_probe(const TrainingGround& ground, Conductor& conductor) {
    if (around_.region == nullptr) return nullptr;
    return std::make_unique<RankProbe>(*around_.region, ground.communicator, conductor,
                                       ground.device.team(), config_.data_parallel.timeout);
  }

  /// What the user left open of how ranks communicate.
  void decide_communication(TrainingGround& ground, const TrainingShape& shape, Choices& choices,
                            Conductor& conductor) {
    if (!config_.strategy.buckets || shape.ranks == 1) return;
    CommunicationChoice choice(ground, shape, conductor, around_.clock);
    const Choices before = communication_in(choices, ground.communicator);
    const CpuLoad load(ground.device.team().cpus());
    ground.data_parallel = choice.decide(plan_, choices, not_interrupted());
    if (conductor.leads()) stop_if_interrupted();
    record_.strategy.bucket_bytes = ground.data_parallel.bucket_bytes;
    record_.strategy.overlap = ground.data_parallel.overlap;
    if (!conductor.leads()) return;
    Choices decided = communication_in(choices, ground.communicator);
    if (decided != before)
      keep_communication(std::move(decided), ground, load.foreign_share().value_or(0));
  }

  /// Of this configuration, as far as they are there.
  [[nodiscard]] Choices communication_in(const Choices& choices,
                                         const Communicator& communicator) const {
    Choices found;
    for (const std::string& key : communication_keys(config_, communicator.name()))
      if (const auto chosen = choices.find(key); chosen != choices.end()) found.insert(*chosen);
    return found;
  }

  void note_seconds(const std::vector<ReplicaSeconds>& replicas) {
    replicas_ = replicas;
    facts_.observed = !replicas.empty();
    if (facts_.observed) facts_.seconds = replicas.front();
  }

  void note_peak_memory() { facts_.peak = peak_resident_memory(); }

  /// What every rank or replica did and took, into rank 0's record.
  void collect_ranks(Communicator& communicator) {
    const std::vector<RankFacts> ranks =
        gather_facts(communicator, facts_, Communicator::kLongWork);
    if (ranks.empty()) return;
    record_.memory = memory_of(ranks, shared_bytes_);
    for (const RankFacts& rank : ranks)
      add_rank(rank.observed ? std::optional(rank.seconds) : std::nullopt,
               rank.peak.own + rank.peak.files);
    for (std::size_t replica = 1; ranks.size() == 1 && replica < replicas_.size(); ++replica)
      add_rank(replicas_[replica], std::nullopt);
    if (!replicas_.empty()) summarize_run(record_, PriorNoise());
    add_straggler_warning(record_);
  }

  void add_rank(std::optional<ReplicaSeconds> seconds, std::optional<Bytes> peak) {
    RankRecord rank{.rank = std::ssize(record_.ranks),
                    .host = host_name(),
                    .device = "cpu",
                    .compute_seconds = {},
                    .wait_seconds = {},
                    .peak_memory_bytes = peak};
    if (seconds) rank.compute_seconds = seconds->compute;
    if (seconds) rank.wait_seconds = seconds->wait;
    record_.ranks.push_back(std::move(rank));
  }

  [[nodiscard]] RunPass pass() const { return config_.options.pass; }

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
    record_.data.workers = config_.options.data_workers;
    return data;
  }

  void describe_workload(const Graph& graph) {
    record_.workload.digest = graph_digest(graph);
    record_.workload.parameters = graph.parameter_count();
    record_.workload.flops_per_sample = graph.flops_per_sample();
    const auto dimensions = graph.input_shape.dimensions();
    record_.workload.input_shape.assign(dimensions.begin(), dimensions.end());
  }

  void describe_sampling(const Sampler& sampler) {
    steps_per_epoch_ = sampler.steps_per_epoch();
    record_.data.samples_left_out = sampler.samples_left_out();
  }

  /// Of the run and of its oracle. A plan file need not know the oracle's, which may be compared
  /// or not.
  Choices choose_operators(const TrainingGround& ground, const TrainingShape& shape,
                           const VerificationPlan& check) {
    enter(RankPhase::choosing);
    const std::string fingerprint = ground.backend.fingerprint();
    PlanStore& store = store_.emplace(
        config_.options.plan_file ? PlanStore::of_file(*config_.options.plan_file, fingerprint)
                                  : PlanStore::of_host(fingerprint));
    const Choices known = store.load();
    const CpuLoad load;
    const auto choose_among = [&](const TrainingShape& trained, Choices so_far) {
      const std::vector<OperatorSpec> specs = operators_of(ground.graph, trained);
      if (!store.named_by_user())
        so_far = without_unknown_candidates(ground.backend, specs, std::move(so_far));
      Choices chosen = choose(ground.backend, specs, so_far, ground.device.memory(), around_.clock,
                              not_interrupted());
      stop_if_interrupted();
      return chosen;
    };
    Choices choices;
    for (const TrainingShape& rank : shapes_of_ranks(shape)) {
      Choices so_far = known;
      so_far.insert(choices.begin(), choices.end());
      choices.merge(choose_among(rank, std::move(so_far)));
    }
    operators_ = choices;
    if (store.named_by_user()) keep(choices, store, load.foreign_share().value_or(0));
    const Choices communication = communication_in(known, ground.communicator);
    if (config_.options.keep_plan) {
      Choices kept = choices;
      kept.insert(communication.begin(), communication.end());
      PlanStore::of_file(*config_.options.keep_plan, fingerprint).save(kept);
    }
    if (check.oracle) {
      Choices more = known;
      more.insert(choices.begin(), choices.end());
      choices.merge(choose_among(*check.oracle, std::move(more)));
    }
    if (!store.named_by_user()) keep(choices, store, load.foreign_share().value_or(0));
    choices.insert(communication.begin(), communication.end());
    return choices;
  }

  /// Beside the operators. A plan file that was there before stays as it is.
  void keep_communication(Choices decided, const TrainingGround& ground, double foreign_share) {
    decided.insert(operators_.begin(), operators_.end());
    const std::string fingerprint = ground.backend.fingerprint();
    if (config_.options.keep_plan)
      PlanStore::of_file(*config_.options.keep_plan, fingerprint).save(decided);
    if (store_->named_by_user() && !store_->is_final()) store_->save(decided);
    if (store_->named_by_user()) return;
    PlanStore cache = PlanStore::of_host(fingerprint);
    (void)cache.load();
    cache.save(decided);
    if (foreign_share > kQuiet)
      warn_of_load("communication", "ranks' communication was", foreign_share);
  }

  /// Choices that were timed beside other work are kept too: each run that chose anew could come
  /// out with another plan, and no two of them would be comparable.
  void keep(const Choices& choices, const PlanStore& store, double foreign_share) {
    if (!store.lacks(choices)) return;
    store.save(choices);
    if (foreign_share > kQuiet) warn_of_load("operators", "operators were", foreign_share);
  }

  /// Of what was timed to choose it, and is kept nevertheless.
  void warn_of_load(std::string_view kind, std::string_view timed, double foreign_share) {
    record_.warnings.push_back(
        {.code = fmt::format("{}-chosen-under-load", kind),
         .message = fmt::format("other programs used {:.0f} % of the cores while {} timed: chosen "
                                "again, a few may differ, and compare judges only runs of one plan",
                                100 * foreign_share, timed),
         .remedy = "Measure what is to be compared with one --plan FILE."});
  }

  /// False where the run computes something else than its oracle: it is not timed.
  bool verified(const TrainingGround& ground, const VerificationPlan& check, Conductor& conductor) {
    if (!check.oracle) {
      record_.verification.reason = check.reason;
      tell_unverified(check.reason, check.lacks_memory);
      return true;
    }
    enter(RankPhase::verifying);
    record_.verification =
        run_verification(ground, check, plan_, conductor, around_.clock, not_interrupted());
    stop_if_interrupted();
    if (record_.verification.status == VerificationStatus::weak)
      record_.warnings.push_back(
          {.code = "weakly-verified",
           .message = "the comparison with serial training is weak: " +
                      record_.verification.reason.value_or(""),
           .remedy = "Compare more: a smaller batch takes less time, a larger one rounds less."});
    if (record_.verification.status != VerificationStatus::failed) return true;
    record_.status = Status::failed;
    const std::string reason = record_.verification.reason.value_or("");
    record_.reason = reason.starts_with(kOracleDiverges)
                         ? reason
                         : fmt::format("does not match serial training: {}", reason);
    return false;
  }

  /// Who asked for a comparison, or would have got one, is told that there was none.
  void tell_unverified(const std::string& reason, bool lacks_memory) {
    if (config_.options.verify == VerifyMode::only) {
      record_.status = Status::skipped;
      record_.reason = "nothing was verified: " + reason;
    }
    if (config_.options.verify == VerifyMode::on || lacks_memory)
      record_.warnings.push_back(
          {.code = "not-verified",
           .message = "nothing was verified: " + reason,
           .remedy = lacks_memory ? "Verify with a smaller batch."
                                  : "Leave --verify on out where that is all right."});
  }

  void plan_training(const TrainingGround& ground, const TrainingShape& shape,
                     const Choices& choices) {
    enter(RankPhase::planning);
    plan_ = std::make_shared<const ProgramPlan>(ground.graph, shape.lowering(), ground.backend,
                                                choices);
    record_.strategy.plan_hash = plan_->hash();
    record_.compute.executed_flops_per_step =  // where shares differ, as if all did as rank 0
        plan_->executed_flops() / static_cast<double>(plan_->batch()) *
        static_cast<double>(config_.global_batch);
    record_.strategy.communicator = ground.communicator.name();
    predict_memory(*plan_, ground, shape);
  }

  std::unique_ptr<Strategy> build(const TrainingGround& ground, const TrainingShape& shape) {
    auto strategy = build_training(ground, shape, plan_);
    strategy->slow_down(step_drag(ground), config_.options.slowdown_turns.value_or(0));
    Program& program = strategy->replica().program();
    start_weights(config_, program);
    if (OutputFile* file = around_.files.initial_weights())
      file->commit(serialize_weights(program.export_tensors()));
    reset_peak_resident_memory();  // choosing, verifying and drawing weights are no training
    trains_ = true;
    return strategy;
  }

  /// What the plan and its generated code take already, and what is to be allocated.
  void predict_memory(const ProgramPlan& plan, const TrainingGround& ground,
                      const TrainingShape& shape) {
    (void)layout_digest(plan);     // loads the code that brings weights into their layouts
    reset_peak_resident_memory();  // and gives its memory back
    facts_.code = growth(facts_.before, resident_memory());
    const MemoryPrediction data = plan.memory(
        shape.step.optimizer, shape.step.accumulation_steps > 1, ground.device.memory());
    const auto sample_bytes =
        static_cast<Bytes>(ground.graph.input_shape.elements()) * sizeof(float);
    const Size loaded = shape.micro_batch * (shape.one_process ? shape.ranks : 1);
    const auto staged = static_cast<Bytes>(
        config_.options.data_workers > 0 ? (config_.options.data_workers + 1) * loaded : 0);
    facts_.data_bytes = data.total() + staged * sample_bytes;
    if (shape.one_process)
      facts_.data_bytes += dp_memory(plan, shape.ranks, ground.device.memory());
  }

  /// For a run in lockstep with others; empty where steps follow each other.
  [[nodiscard]] std::optional<TurnClient> turns_of(Conductor& conductor) {
    if (!config_.options.turns) return std::nullopt;
    return TurnClient({.name = *config_.options.turns,
                       .interrupted = [this] { return around_.interrupt.requested(); },
                       .rest =
                           [&] {
                             conductor.rest();
                             (void)wait_until_quiet();
                             board_.enter(config_.rank(), RankPhase::resting);
                           },
                       .wake = [this] { board_.enter(config_.rank(), RankPhase::measuring); }});
  }

  Samples measure_steps(Strategy& strategy, const DataSource& data, Team& team, ProbePeers* peers,
                        Conductor& conductor) {
    RunLength length{.steps = config_.options.steps,
                     .epoch_steps = std::nullopt,
                     .warmup = config_.options.warmup,
                     .min_time_seconds = config_.options.min_time_seconds,
                     .max_time_seconds = config_.options.max_time_seconds};
    if (config_.options.epochs) length.epoch_steps = *config_.options.epochs * steps_per_epoch_;
    MeasuringPlan measuring = plan_measuring(length);
    // So that no epoch ends within a sample.
    if (TargetWatch::asked(config_.options)) measuring.config.sample_seconds = 0;
    MachineProbe probe(team, peers);
    measuring.config.probe = &probe;
    std::optional<TurnClient> turns = turns_of(conductor);
    if (turns) measuring.config.turns = &*turns;
    TargetWatch target(config_.options, data, steps_per_epoch_, around_.clock, not_interrupted());
    UntilReached rule(*measuring.rule, target.reached());
    enter(RankPhase::warming_up);
    const double started = unix_seconds();
    Samples samples = measure([&] { target.step(train_step(strategy)); }, measuring.config, rule,
                              around_.clock, [this] { return around_.interrupt.requested(); },
                              [&](const SamplingProgress& progress) {
                                show(progress);
                                if (progress.warming_up) strategy.drag().count_anew();
                                target.look(strategy.replica().program());
                              });
    samples.started_unix_seconds = started;
    add_standstill_warning(record_, samples.standstill);
    record_.time_to_target_seconds = target.seconds();
    if (target.missed() && !samples.interrupted)
      record_.warnings.push_back({.code = "target-not-reached",
                                  .message = "training ended before it reached its target",
                                  .remedy = "Train for more --epochs, or ask for less."});
    return samples;
  }

  float train_step(Strategy& strategy) {
    const float loss = strategy.step();
    if (LossLog* log = around_.files.loss_log()) log->append(loss);
    const LossScaler& scaler = strategy.replica().scaler();
    if (!std::isfinite(loss) && !scaler.active()) {
      record_.warnings.push_back({.code = "non-finite-loss",
                                  .message = "training diverged",
                                  .remedy = "Choose a smaller --lr."});
      throw run_error(fmt::format("the loss of step {} is {}", strategy.steps(), loss),
                      "choose a smaller --lr");
    }
    if (strategy.steps() == 1) record_.loss.first = loss;
    record_.loss.last = loss;
    return loss;
  }

  /// Loss scaling skips steps whose gradients overflow; a loss that is not finite stays so.
  void fail_if_diverged() {
    if (record_.status != Status::ok || !record_.loss.last || std::isfinite(*record_.loss.last))
      return;
    record_.status = Status::failed;
    record_.reason = fmt::format("training diverged: the last loss is {}", *record_.loss.last);
  }

  void summarize(const Samples& samples, const KernelBackend& backend, Strategy& strategy) {
    const auto ranks = static_cast<double>(config_.options.nproc);
    const auto peak = backend.measure_peak_flops(config_.type, around_.clock);
    if (peak) record_.compute.peak_flops_per_second = ranks * core_share() * *peak;
    record_.compute.peak_source =
        fmt::format("measured: {} multiply-adds, threads: {}{}", config_.precision, config_.threads,
                    ranks > 1 ? fmt::format(", times {:g} ranks", ranks) : "");
    if (core_share() < 1)
      *record_.compute.peak_source += fmt::format(", times {:.3g}: they share cores", core_share());
    add_repetition(samples, record_.samples);
    if (config_.options.slowdown > 0) {
      record_.samples.slowdown = config_.options.slowdown;
      record_.samples.slowdown_realized = strategy.drag().realized();
    }
    summarize_run(record_, PriorNoise());
    if (samples.interrupted) record_.status = Status::interrupted;
    fail_if_diverged();
    if (const Size skipped = strategy.replica().scaler().skipped(); skipped > 0)
      record_.warnings.push_back(
          {.code = "skipped-steps",
           .message = fmt::format("{} of {} steps were skipped: their gradients overflowed at that "
                                  "loss scale",
                                  skipped, strategy.steps()),
           .remedy = "Some at the start are usual while the scale is found."});
  }

  void show(const SamplingProgress& progress) {
    const RankPhase phase = progress.warming_up ? RankPhase::warming_up : RankPhase::measuring;
    if (board_.phase(config_.rank()) != phase) {
      board_.enter(config_.rank(), phase);
      around_.progress.begin(name_of(phase));
      pace_.clear();
    }
    const bool is_first = progress.warming_up && progress.steps == 1;  // far slower than any other
    if (around_.progress.visible() && !is_first) pace_.add(progress.steps, progress.step_seconds);
    if (progress.seconds_left && around_.progress.due()) {
      const double all = progress.elapsed_seconds + *progress.seconds_left;
      if (all > 0) around_.progress.update(progress.elapsed_seconds / all, throughput_so_far());
    }
    if (LossLog* log = around_.files.loss_log()) log->flush();
  }

  /// "21.3 k samples/s" of this phase, for people. In later repetitions the session says what those
  /// before have measured.
  [[nodiscard]] std::string throughput_so_far() const {
    const auto seconds = pace_.step_seconds();
    if (pass() == RunPass::next || !seconds || *seconds <= 0) return {};
    const auto samples = static_cast<double>(record_.strategy.global_batch.value_or(0));
    return fmt::format("{} samples/s", format_si(samples / *seconds));
  }

  /// On a copy, so that neither weights nor samples know of it.
  void time_phases(const TrainingGround& ground, const TrainingShape& shape, Conductor& conductor) {
    enter(RankPhase::timing_phases);
    const auto copy = build_training(ground, shape, plan_);
    start_weights(config_, copy->replica().program());
    conductor.lead(*copy);
    const ObservedSteps steps = measure_phases(*copy, around_.clock, not_interrupted());
    record_.phases_seconds = steps.phases;
    note_seconds(steps.replicas);
    conductor.stop();
    stop_if_interrupted();
  }

  /// Of a core, for each thread of several ranks; one rank's own threads were measured together.
  [[nodiscard]] double core_share() const {
    const Size threads = config_.threads * config_.options.nproc;
    if (config_.options.nproc == 1 || config_.options.core_share) return 1;
    const auto cores = static_cast<double>(topology_.cores.size());
    return std::min(1.0, std::max(cores, 1.0 * config_.threads) / static_cast<double>(threads));
  }

  void finish(Program& program, const DataSource& data) {
    if (OutputFile* file = around_.files.final_weights())
      file->commit(serialize_weights(program.export_tensors()));
    if (config_.synthetic_samples > 0) return;  // accuracy on noise says nothing
    enter(RankPhase::evaluating);
    record_.accuracy = AccuracyRecord{.train = accuracy(program, data.train, not_interrupted()),
                                      .test = accuracy(program, data.test, not_interrupted())};
    stop_if_interrupted();
  }

  const RunConfig& config_;
  const RunSurroundings& around_;
  RunRecord& record_;
  const Topology& topology_;
  std::array<PhaseBoard::Slot, 1> own_slot_{};
  PhaseBoard board_;  ///< the launcher's, where there is one
  StepPace pace_;     ///< of the phase that is shown
  Size steps_per_epoch_ = 0;
  bool trains_ = false;                   ///< the peak of memory is that of training
  std::optional<PlanStore> store_;        ///< on rank 0
  Choices operators_;                     ///< on rank 0, as timed
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

#include "app/config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "app/config/precision.h"
#include "src/base/error.h"
#include "src/comm/communicator_catalog.h"
#include "src/device/isa.h"

namespace ptbench {
namespace {

/// The precision to compute in, which the device has: one that is no CPU was chosen for it.
std::string precision_of(const RunOptions& options, const StrategyRow& strategy,
                         const ChosenDevice& device) {
  const bool has_bf16 = has_bf16_products();
  if (!options.precision) {
    if (!strategy.mixed_precision) return "fp32";
    if (!device.is_cpu()) return mixed_precision_of(device.compute_capability);
    if (has_bf16) return "bf16";
    throw capability_error(
        fmt::format("strategy '{}': this CPU multiplies only fp32", strategy.name),
        "use a CPU with AVX512_BF16 or AMX, or --strategy serial");
  }
  const std::string& precision = *options.precision;
  if (bytes_of(multiplied_type(precision)) == sizeof(float) && strategy.mixed_precision)
    throw usage_error(
        fmt::format("--precision {}: strategy '{}' is mixed precision", precision, strategy.name),
        "leave it out, or use --strategy serial");
  if (!device.is_cpu()) return precision;
  if (precision == "fp16" || precision == "tf32")
    throw capability_error(fmt::format("--precision {}: CPUs cannot multiply it", precision),
                           has_bf16 ? "use --precision bf16 or fp32" : "use --precision fp32");
  if (precision == "bf16" && !has_bf16)
    throw capability_error("--precision bf16: this CPU has neither AVX512_BF16 nor AMX",
                           "use --precision fp32");
  return precision;
}

void require_sensible_ends(const RunOptions& options) {
  const bool keeps = options.save_initial_weights || options.save_final_weights || options.loss_log;
  if (options.verify == VerifyMode::only && keeps)
    throw usage_error("--verify only trains nothing, so there are no weights or losses to keep",
                      "leave out --save-initial-weights, --save-final-weights and --loss-log");
  if (options.verify == VerifyMode::only && options.trace)
    throw usage_error("--verify only trains nothing, so there is nothing to trace",
                      "leave out --trace");
  if (options.trace_window && !options.trace)
    throw usage_error("--trace-steps needs --trace", "add --trace DIR");
  if ((options.target_accuracy || options.target_loss) && !options.epochs)
    throw usage_error(fmt::format("--{} needs a limit",
                                  options.target_accuracy ? "target-accuracy" : "target-loss"),
                      "add --epochs E, the most epochs to train");
}

void require_possible_world(const RunOptions& options, const StrategyRow& strategy) {
  if ((!strategy.several_ranks || strategy.one_process) && options.reduce_precision != "fp32")
    throw usage_error(
        fmt::format("strategy '{}' reduces no gradients between ranks", strategy.name),
        "leave out --reduce-precision, or use --strategy ddp");
  if (!strategy.buckets &&
      (options.bucket_mb || options.first_bucket_mb || options.overlap != OnOffAuto::automatic))
    throw usage_error(fmt::format("strategy '{}' reduces no gradients in buckets", strategy.name),
                      "leave out --bucket-mb, --first-bucket-mb and --overlap, or use --strategy "
                      "ddp");
  if (options.nproc > 1 && !strategy.several_ranks)
    throw usage_error(fmt::format("--nproc {}: strategy '{}' is one replica in one process",
                                  options.nproc, strategy.name),
                      "leave --nproc out, or use --threads to give the replica more cores");
}

/// Ranks that wait for each other's turns measure the scheduler.
void require_enough_cores(const RunOptions& options, const Topology& topology) {
  const Size cores = std::max<Size>(
      1, options.core_share ? options.core_share->cores : std::ssize(topology.cores));
  const Size most = kMostRanksPerCore * cores;
  if (options.oversubscribe || options.nproc <= most) return;
  const bool from_outside = options.core_share.has_value();
  throw usage_error(
      fmt::format("{}{}: {} core{} {} {} ranks, {} a core", from_outside ? "ranks: " : "--nproc ",
                  options.nproc, cores, cores == 1 ? "" : "s", cores == 1 ? "takes" : "take", most,
                  kMostRanksPerCore),
      fmt::format("{} {} or less, or allow it with --oversubscribe",
                  from_outside ? "start" : "use --nproc", most));
}

/// Empty where all are alike, which is no other configuration than with that --batch-size.
std::vector<Size> unequal_shares(const RunOptions& options) {
  const bool alike = std::ranges::adjacent_find(options.shares, std::ranges::not_equal_to()) ==
                     options.shares.end();
  return alike ? std::vector<Size>() : options.shares;
}

void require_possible_imbalance(const RunOptions& options, const StrategyRow& strategy) {
  const auto ranks = static_cast<std::size_t>(options.nproc);
  const std::size_t shares = options.shares.size();
  if (shares > 0 && shares != ranks)
    throw usage_error(
        fmt::format("--shares {}: that is {} micro-batch{} for {} rank{}",
                    fmt::join(options.shares, "+"), shares, shares == 1 ? "" : "es", ranks,
                    ranks == 1 ? "" : "s"),
        fmt::format("use --nproc {}, or give each rank a share, joined by '+'", shares));
  if (strategy.one_process && !unequal_shares(options).empty())
    throw usage_error(fmt::format("--shares: strategy '{}' gives all replicas equal micro-batches",
                                  strategy.name),
                      "leave it out, or use --strategy ddp");
  if (options.slow_rank && options.slow_rank->rank >= options.nproc)
    throw usage_error(fmt::format("--slow-rank {}:{}: there is no rank {}, because --nproc is {}",
                                  options.slow_rank->rank, options.slow_rank->factor,
                                  options.slow_rank->rank, options.nproc),
                      fmt::format("name a rank from 0 to {}, or use --nproc {}", options.nproc - 1,
                                  options.slow_rank->rank + 1));
}

/// As --loss-scale takes it.
std::string text_of(const LossScaleSpec& spec) {
  if (spec.kind == LossScaling::fixed) return fmt::format("{}", spec.value);
  return spec.kind == LossScaling::dynamic ? "dynamic" : "none";
}

/// Whether steps are given to the device as one graph.
bool uses_graph(const RunConfig& config) {
  const OnOffAuto mode = config.options.graph;
  const StrategyRow& strategy = config.strategy;
  const bool possible = !config.device.is_cpu() && strategy.records_steps;
  if (mode != OnOffAuto::on) return possible && mode != OnOffAuto::off;
  if (config.device.is_cpu())
    throw capability_error("--graph on: a CPU has no graphs", "leave it out, or use --device cuda");
  if (!strategy.records_steps)
    throw capability_error(
        fmt::format("--graph on: steps of strategy '{}' cannot be one graph", strategy.name),
        "leave it out, or use --strategy serial");
  return true;
}

/// What is left to `auto` is decided when the training is planned.
DdpOptions data_parallel_of(const RunOptions& options) {
  const auto bytes_of = [](double mib) { return static_cast<Bytes>(mib * (1U << 20U)); };
  DdpOptions result;
  if (options.bucket_mb) result.bucket_bytes = bytes_of(*options.bucket_mb);
  if (options.first_bucket_mb) result.first_bucket_bytes = bytes_of(*options.first_bucket_mb);
  result.share_clock = options.rank_hosts.empty();
  result.overlap = options.overlap == OnOffAuto::on;
  result.wire = options.reduce_precision == "bf16" ? WireType::bf16 : WireType::fp32;
  result.broadcast_buffers = options.broadcast_buffers;
  result.timeout = options.timeout();
  return result;
}

OptimizerKind kind_named(const std::string& name) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
    if (name == name_of(kind)) return kind;
  throw usage_error(fmt::format("unknown optimizer '{}'", name), "use sgd, adam or adamw");
}

/// Naming another optimizer than the workload's resets the rest to PyTorch's defaults.
OptimizerSpec optimizer_of(const RunOptions& options, const OptimizerSpec& usual) {
  OptimizerSpec spec = usual;
  if (options.optimizer && kind_named(*options.optimizer) != usual.kind)
    spec = OptimizerSpec::defaults_of(kind_named(*options.optimizer));
  if (options.momentum && spec.kind != OptimizerKind::sgd)
    throw usage_error(fmt::format("--momentum does not work with {}", name_of(spec.kind)),
                      "leave it out, or add --optimizer sgd");
  spec.lr = options.lr.value_or(spec.lr);
  spec.momentum = options.momentum.value_or(spec.momentum);
  spec.weight_decay = options.weight_decay.value_or(spec.weight_decay);
  return spec;
}

Size batch_of(const RunOptions& options, const Workload& workload, Size accumulation) {
  if (!options.shares.empty()) return std::ranges::max(options.shares);
  if (!options.global_batch) return options.batch_size.value_or(workload.batch);
  const Size global = *options.global_batch;
  const Size parts = options.nproc * accumulation;
  if (global % parts == 0) return global / parts;
  const Size nearest = std::max<Size>(1, (global + parts / 2) / parts) * parts;
  throw usage_error(
      accumulation == 1
          ? fmt::format("--global-batch {} cannot be shared by {} replicas", global, options.nproc)
          : fmt::format("--global-batch {} cannot be cut into {} micro-batches", global, parts),
      fmt::format("the nearest possible one is {}", nearest));
}

/// An epoch of fewer synthetic samples would have no step.
void require_whole_step(const RunConfig& config) {
  const Size together = config.batch.together();
  const Size accumulation = config.batch.accumulation_steps;
  const std::optional<Size>& samples = config.options.samples;
  if (!samples || *samples / accumulation >= together) return;  // the product could overflow
  std::string parts = fmt::format("{} samples", together);
  if (config.options.nproc > 1) parts += fmt::format(" of {} ranks", config.options.nproc);
  if (accumulation > 1) parts += fmt::format(", {} times", accumulation);
  const char* option = !config.batch.shares.empty()  ? "shares"
                       : config.options.global_batch ? "global-batch"
                                                     : "batch-size";
  throw usage_error(
      fmt::format("--samples {} does not fill one global batch ({})", *samples, parts),
      fmt::format("use more --samples, or a smaller --{}", option));
}

/// The communicator of several ranks, where another one than the usual one was asked for.
std::optional<std::string> unusual_communicator(const RunConfig& config) {
  const RunOptions& options = config.options;
  const Size ranks = config.strategy.one_process ? 1 : options.nproc;
  const std::string& asked =
      options.asked_communicator.empty() ? options.communicator : options.asked_communicator;
  if (ranks < 2 || asked == kAutomaticCommunicator ||
      asked == find_communicator(kAutomaticCommunicator, ranks, !config.device.is_cpu()).name)
    return {};
  return asked;
}

/// Measured options that are not at their default, for the run's id.
std::vector<OptionValue> other_options(const RunConfig& config) {
  const OptimizerSpec& usual = config.workload.optimizer;
  const OptimizerSpec& spec = config.optimizer;
  std::vector<OptionValue> others;
  const auto append = [&others](const char* option, OnOffAuto mode) {
    if (mode != OnOffAuto::automatic)
      others.push_back({option, mode == OnOffAuto::on ? "on" : "off"});
  };
  if (!config.device.is_cpu()) others.push_back({"device", config.device.text()});
  if (config.batch.accumulation_steps != config.strategy.accumulation_steps)
    others.push_back({"accumulate", fmt::format("{}", config.batch.accumulation_steps)});
  if (config.loss_scale.kind != usual_loss_scale(config.precision).kind)
    others.push_back({"loss-scale", text_of(config.loss_scale)});
  append("graph", config.options.graph);
  if (config.options.threads)
    others.push_back({"threads", fmt::format("{}", *config.options.threads)});
  if (spec.kind != usual.kind) others.push_back({"optimizer", name_of(spec.kind)});
  const OptimizerSpec base =
      spec.kind == usual.kind ? usual : OptimizerSpec::defaults_of(spec.kind);
  if (spec.lr != base.lr) others.push_back({"lr", fmt::format("{}", spec.lr)});
  if (spec.momentum != base.momentum)
    others.push_back({"momentum", fmt::format("{}", spec.momentum)});
  if (spec.weight_decay != base.weight_decay)
    others.push_back({"weight-decay", fmt::format("{}", spec.weight_decay)});
  if (const auto mib = config.options.bucket_mb)
    others.push_back({"bucket-mb", fmt::format("{}", *mib)});
  if (const auto mib = config.options.first_bucket_mb)
    others.push_back({"first-bucket-mb", fmt::format("{}", *mib)});
  append("overlap", config.options.overlap);
  if (config.options.reduce_precision != "fp32")
    others.push_back({"reduce-precision", config.options.reduce_precision});
  if (!config.options.broadcast_buffers) others.push_back({"broadcast-buffers", "off"});
  if (const std::optional<std::string> communicator = unusual_communicator(config))
    others.push_back({"communicator", *communicator});
  if (!config.options.interface.empty()) others.push_back({"interface", config.options.interface});
  if (config.options.is_pytorch()) others.push_back({"engine", config.options.engine});
  for (OptionValue& made : config.imbalance()) others.push_back(std::move(made));
  if (config.options.data != "synthetic") others.push_back({"data", config.options.data});
  if (config.options.samples)
    others.push_back({"samples", fmt::format("{}", *config.options.samples)});
  if (!config.options.shuffle) others.push_back({"shuffle", "off"});
  if (config.options.data_workers > 0)
    others.push_back({"data-workers", fmt::format("{}", config.options.data_workers)});
  return others;
}

}  // namespace

std::vector<OptionValue> RunConfig::imbalance() const {
  std::vector<OptionValue> made;
  if (!batch.shares.empty())
    made.push_back({"shares", fmt::format("{}", fmt::join(batch.shares, ","))});
  if (const auto& slow = options.slow_rank; slow && slow->factor > 1)
    made.push_back({"slow-rank", fmt::format("{}:{}", slow->rank, slow->factor)});
  return made;
}

namespace {

/// Where --nproc was left out, a list of devices says how many replicas there are.
RunOptions with_listed_replicas(RunOptions options, const StrategyRow& strategy) {
  const bool is_from_outside = options.place.rank.has_value() && !options.orders.region;
  const bool is_given =
      is_from_outside || std::ranges::find(options.assignments, "nproc", &NamedAssignment::name) !=
                             options.assignments.end();
  if (!is_given && options.nproc == 1 && strategy.several_ranks)
    options.nproc = devices_listed(options.device);
  return options;
}

/// What "auto" stands for, where only the device decides.
std::string communicator_named(const RunOptions& options, const ChosenDevice& device) {
  if (options.communicator != kAutomaticCommunicator || device.is_cpu())
    return options.communicator;
  return find_communicator(kAutomaticCommunicator, options.nproc, true).name;
}

}  // namespace

RunConfig configure_run(const RunOptions& given, const Topology& topology) {
  RunConfig config;
  config.strategy = find_strategy(given.strategy);
  const RunOptions options = with_listed_replicas(given, config.strategy);
  config.options = options;
  if (options.program) {
    configure_program(options, std::ssize(topology.cores), config);
    return config;
  }
  if (options.name)
    throw usage_error("--name names a --program, and there is none",
                      "leave it out, or add --program");
  config.workload = find_workload(options.workload);
  require_possible_world(options, config.strategy);
  require_enough_cores(options, topology);
  require_possible_imbalance(options, config.strategy);
  config.device = choose_device(options, config.strategy, config.workload);
  // When an emulated device is warm, only a clock could say.
  if (config.device.is_emulated && !options.warmup) config.options.warmup = 1;
  require_communicator(options.communicator);
  require_interface_of({communicator_named(options, config.device)}, options.interface);
  if (options.nproc > 1 && !config.strategy.one_process)
    require_communicator_of(options.communicator, !config.device.is_cpu());
  require_sensible_ends(options);
  config.precision = precision_of(options, config.strategy, config.device);
  config.type = multiplied_type(config.precision);
  config.loss_scale = options.loss_scale.value_or(usual_loss_scale(config.precision));
  if (config.options.pin_memory && config.device.is_cpu())
    throw capability_error(
        "--pin-memory has no effect on a CPU: batches are not copied to a device",
        "leave it out, or use --device cuda");
  config.graph = uses_graph(config);
  config.optimizer = optimizer_of(options, config.workload.optimizer);
  const auto cores = static_cast<Size>(topology.cores.size());
  const Size usual_threads =
      options.core_share ? options.core_share->threads : std::max<Size>(1, cores / options.nproc);
  config.threads = static_cast<int>(options.threads.value_or(usual_threads));
  const Size accumulation = options.accumulate.value_or(config.strategy.accumulation_steps);
  config.batch = BatchShape{.micro_batch = batch_of(options, config.workload, accumulation),
                            .accumulation_steps = accumulation,
                            .replicas = options.nproc,
                            .replica = 0,
                            .shares = unequal_shares(options)}
                     .of_replica(config.strategy.one_process ? 0 : config.rank());
  if (options.data == "synthetic") require_whole_step(config);
  config.data_parallel = data_parallel_of(options);
  if (options.data != "synthetic" && options.samples)
    throw usage_error("--samples is the length of synthetic data, and --data names a directory",
                      "leave one of the two out");
  if (options.data == "synthetic")
    config.synthetic_samples = options.samples.value_or(
        std::max(config.workload.synthetic_samples, config.batch.global_batch()));
  config.id = run_id({.workload = config.workload.name,
                      .strategy = config.strategy.name,
                      .world_size = options.nproc,
                      .batch_per_replica = config.batch_size(),
                      .precision = config.precision},
                     other_options(config));
  if (options.is_pytorch()) config.program = pytorch_command(config);
  return config;
}

}  // namespace ptbench

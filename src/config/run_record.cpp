#include "src/config/run_record.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "kernels/cpu/cpu_backend.h"
#include "src/config/version.h"
#include "src/measure/environment.h"

namespace ptbench {
namespace {

OptimizerRecord describe(const OptimizerSpec& spec) {
  OptimizerRecord record;
  record.name = name_of(spec.kind);
  record.lr = spec.lr;
  record.weight_decay = spec.weight_decay;
  if (spec.kind == OptimizerKind::sgd) {
    record.momentum = spec.momentum;
  } else {
    record.beta1 = spec.beta1;
    record.beta2 = spec.beta2;
    record.epsilon = spec.epsilon;
  }
  return record;
}

void add_machine_warnings(const RunConfig& config, const Topology& topology, RunRecord& record) {
  if (build_info().build_type != "Release")
    record.warnings.push_back({.code = "debug-build",
                               .message = fmt::format("this is a {} build: its speed means nothing",
                                                      build_info().build_type),
                               .remedy = "Build with the CMake preset 'release'."});
  if (!config.device.is_cpu()) return;  // its host threads mostly sleep
  const Size threads = config.threads * config.options.nproc;
  const Size cores = std::ssize(topology.cores);
  if (threads > cores)
    record.warnings.push_back(
        {.code = "oversubscribed-cores",
         .message =
             fmt::format("{} threads share {} core{}", threads, cores, cores == 1 ? "" : "s"),
         .remedy = config.options.nproc > cores
                       ? fmt::format("Use --nproc {} or less.", cores)
                       : fmt::format("Use --threads {} or less.", cores / config.options.nproc)});
}

void add_device_warning(const ChosenDevice& device, RunRecord& record) {
  if (device.is_emulated)
    record.warnings.push_back(
        {.code = "emulated-device",
         .message = fmt::format("{} is emulated ({}): it has no speed", device.id, device.name),
         .remedy = "Measure on a real device."});
  if (device.most_replicas() > 1)
    record.warnings.push_back(
        {.code = "shared-device",
         .message =
             fmt::format("{} replicas share a GPU: their times cannot be compared with anything",
                         device.most_replicas()),
         .remedy = "Use --nproc with as many replicas as there are GPUs."});
}

void add_imbalance_warning(const RunConfig& config, RunRecord& record) {
  std::string done;
  for (const OptionValue& made : config.imbalance()) {
    if (!done.empty()) done += ", and ";
    done += made.option == "shares"
                ? fmt::format("the ranks' micro-batches are unequal (--shares {})", made.value)
                : fmt::format("one rank was made to compute slower (--slow-rank {})", made.value);
  }
  if (!done.empty())
    record.warnings.push_back({.code = "imbalanced-on-purpose",
                               .message = std::move(done),
                               .remedy = "Leave that out to measure the machine as it is."});
}

/// What another engine trains has a ratio only where it is known to be the same.
void add_verification_warning(const RunConfig& config, RunRecord& record) {
  if (config.options.verify != VerifyMode::off) return;
  record.verification.reason = "--verify off";
  record.warnings.push_back(
      {.code = "not-compared",
       .message =
           "the training was not compared with ptbench's, so there is no ratio to another engine",
       .remedy = "Measure without --verify off."});
}

/// What is known of a program before it has said hello.
RunRecord begin_program_record(const RunConfig& config) {
  RunRecord record;
  record.id = config.id;
  record.engine = {.name = config.program->engine, .command = config.program->command};
  record.workload.name = config.workload.name;
  record.strategy.name = config.strategy.name;
  record.strategy.world_size = config.program->world_size.value_or(1);
  record.strategy.precision = config.precision;
  if (config.options.threads) record.strategy.threads = config.options.threads;
  if (config.batch.micro_batch > 0) record.strategy.batch_per_replica = config.batch_size();
  record.strategy.global_batch = config.program->global_batch;
  record.verification.reason = "a program is measured as it is";
  return record;
}

}  // namespace

RunRecord begin_record(const RunConfig& config, const Topology& topology) {
  if (config.program && config.program->engine == "program") return begin_program_record(config);
  RunRecord record;
  record.id = config.id;
  if (config.program) {
    record.engine = {.name = config.program->engine, .command = config.program->command};
    add_verification_warning(config, record);
  } else {
    record.engine = {.name = "native", .version = build_info().version};
  }
  record.workload.name = config.workload.name;
  if (!config.workload.model_file.empty()) record.workload.file = config.workload.model_file;
  record.strategy.name = config.strategy.name;
  record.strategy.world_size = config.options.nproc;
  for (Size replica = 0; replica < config.options.nproc; ++replica)
    record.strategy.devices.push_back(config.device.of_replica(replica));
  if (config.device.is_cpu()) record.strategy.threads = config.threads;
  record.strategy.accumulation_steps = config.batch.accumulation_steps;
  record.strategy.precision = config.precision;
  record.strategy.batch_per_replica = config.batch_size();
  record.strategy.global_batch = config.batch.global_batch();
  record.optimizer = describe(config.optimizer);
  add_machine_warnings(config, topology, record);
  add_device_warning(config.device, record);
  add_imbalance_warning(config, record);
  return record;
}

ResultFile begin_result(const std::vector<std::string>& command_line, const Topology& topology,
                        const ChosenDevice& device) {
  const BuildInfo build = build_info();
  ResultFile file;
  file.generator.version = build.version;
  file.generator.git_commit = build.git_commit;
  file.generator.build_type = build.build_type;
  file.created = rfc3339_utc(std::chrono::system_clock::now());
  file.command = command_line;
  file.environment = describe_environment(topology);
  file.environment.devices.push_back(
      {.id = "cpu", .name = topology.cpu_model, .memory_bytes = topology.memory_bytes});
  for (const std::string& id : device.of_replicas)  // which are alike
    if (std::ranges::find(file.environment.devices, id, &DeviceRecord::id) ==
        file.environment.devices.end())
      file.environment.devices.push_back(
          {.id = id, .name = device.name, .memory_bytes = device.memory_bytes});
  file.environment.libraries["onednn"] = onednn_version();
  return file;
}

}  // namespace ptbench

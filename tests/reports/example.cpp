#include "tests/reports/example.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace ptbench::testing {
namespace {

RunRecord measured_run() {
  RunRecord run;
  run.id = "mlp/serial/n1/b64/fp32/data=tests/data/digits";
  run.engine = {"native", "0.1.0", std::nullopt};
  run.workload = {"mlp",  std::nullopt, "0123456789abcdef", 1'125'386,
                  6.75e6, std::nullopt, {1, 8, 8}};
  run.strategy = {.name = "serial",
                  .world_size = 1,
                  .devices = {"cpu"},
                  .threads = 2,
                  .accumulation_steps = 1,
                  .precision = "fp32",
                  .batch_per_replica = 64,
                  .global_batch = 64,
                  .plan_hash = "5f1c29ab"};
  run.optimizer.name = "sgd";
  run.optimizer.lr = 0.01;
  run.optimizer.momentum = 0.9;
  run.optimizer.weight_decay = 0.0;
  run.data = {"tests/data/digits", 1437, 29, {0.30}, {0.37}, 0};
  run.samples.warmup_discarded = 10;
  run.samples.count = 4;
  run.samples.stop_reason = StopReason::epochs;
  run.samples.steps_per_sample = 1;
  run.samples.step_seconds = {0.002, 0.0021, 0.0019, 0.0024};
  run.step_seconds.median = 0.00205;
  run.step_seconds.mean = 0.0021;
  run.step_seconds.stddev = 0.00021602468994692867;
  run.step_seconds.min = 0.0019;
  run.step_seconds.max = 0.0024;
  run.step_seconds.p10 = 0.00193;
  run.step_seconds.p90 = 0.00231;
  run.step_seconds.p95 = 0.002355;
  run.step_seconds.p99 = 0.002391;
  run.throughput.value = 30476.190476190477;
  run.ranks = {{.rank = 0, .host = "vm-17", .device = "cpu", .peak_memory_bytes = 50'000'000}};
  run.memory = {10'000'000, 50'000'000, 48'000'000};
  run.compute = {4.32e8,
                 3.24e8,
                 2.057142857142857e11,
                 2.7e11,
                 0.5714285714285714,
                 0.7619047619047619,
                 "measured: FMA loop"};
  run.loss = {2.3124, 0.0471};
  run.accuracy = AccuracyRecord{0.9986, 0.9639};
  return run;
}

void add_parallel_facts(RunRecord& run) {
  run.strategy.world_size = 2;
  run.strategy.hosts = 2;
  run.strategy.devices = {"cpu", "cpu"};
  run.strategy.bucket_bytes = 26'214'400;
  run.strategy.overlap = true;
  run.strategy.communicator = "shm";
  run.strategy.launcher = "mpirun -n 2";
  run.samples.slowdown = 0.05;
  run.samples.slowdown_realized = 0.0501;
  run.samples.slices = {{.repetition = 0,
                         .first = 0,
                         .count = 4,
                         .clean = true,
                         .median_seconds = 0.00205,
                         .core_latency_seconds = 2.5e-8,
                         .placement = "near",
                         .foreign_cpu_fraction = 0.01,
                         .steal_fraction = 0.0,
                         .frequency_hertz = 2.9e9,
                         .mean_frequency_hertz = 3e9,
                         .turn = 3,
                         .device_temperature_celsius = 61,
                         .device_throttle_reasons = {{"gpu_idle", "sync_boost"}},
                         .device_other_processes = 2,
                         .device_foreign_fraction = 0.01,
                         .device_joules = 155.5}};
  run.samples.repetitions = {{0.00205, "near", 1, 1.75e9, 0.002, 0.00207, "17-1"}};
  run.step_seconds.ci95 = Interval{0.00203, 0.00207};
  run.step_seconds.run_to_run_sd = 1.25e-5;
  run.step_seconds.by_placement = {{"near", {0.00205, 1}}};
  run.throughput.ci95 = Interval{30917.9, 31527.1};
  run.phases_seconds = {1e-5, 0.0, 0.0, 0.0006, 0.0, 0.0011, 0.0, 0.0002, 0.0001, 0.0002, 4e-5};
  run.link = LinkRecord{0.00021, 1.17e8, "shm+gloo"};
  run.energy = EnergyRecord{0.25, "rapl"};
  run.time_to_target_seconds = 12.5;
  run.verification = {
      VerificationStatus::passed, std::nullopt, 30, 0.01, 1.5e-7, 1e-5, "fc1.weight"};
  run.scaling = ScalingRecord{.mode = ScalingMode::strong,
                              .baseline = "mlp/serial/n1/b64/fp32",
                              .speedup = 1.8,
                              .efficiency = 0.9,
                              .efficiency_ci95 = Interval{0.88, 0.92},
                              .efficiency_vs_one_rank = 0.91,
                              .all_cores = "mlp/serial/n1/b64/fp32/threads=2",
                              .efficiency_vs_all_cores = 0.97,
                              .efficiency_vs_all_cores_ci95 = Interval{0.95, 0.99},
                              .loss = {0.05, 0.0, 0.03, 0.01, 0.0, 0.01},
                              .one_host = "mlp/ddp/n1/b64/fp32",
                              .efficiency_within_hosts = 1.0,
                              .efficiency_across_hosts = 0.91,
                              .efficiency_across_hosts_ci95 = Interval{0.89, 0.93},
                              .predicted = {0.0025, 0.82, 0.0021, 0.97}};
  run.versus = VersusRecord{.run = "mlp/ddp/n2/b32/fp32",
                            .step_time_ratio = 1.5,
                            .step_time_ratio_ci95 = Interval{1.45, 1.55},
                            .pairs_in_turns = 5};
}

}  // namespace

ResultFile example_file() {
  ResultFile file;
  file.generator = {"ptbench", "0.1.0", "abc1234", "Release"};
  file.created = "2025-06-30T12:34:56Z";
  file.command = {"ptbench", "run", "--data", "tests/data/digits"};
  file.environment.host = {"vm-17", "Debian GNU/Linux 12 (bookworm)", "6.1.0-13-amd64"};
  file.environment.cpu = {"Some Maker CPU", 2, {"avx2", "avx512f"}};
  file.environment.memory_bytes = 25'000'000'000;
  file.environment.devices = {{"cpu", "Some Maker CPU", 25'000'000'000}};
  file.environment.libraries = {{"onednn", "2.6.3"}};
  file.environment.variables = {{"OMP_NUM_THREADS", "2"}};
  file.runs = {measured_run()};
  return file;
}

RunRecord full_run() {
  RunRecord run = measured_run();
  add_parallel_facts(run);
  run.engine = {"program", std::nullopt, "./train --steps 100"};
  run.workload.name = "models/\"odd\", with\ttab.json";
  run.id = run.workload.name + "/ddp/n2/b64/fp32";
  run.data.source = "caf\xE9\n\x1b[31mred\x7f\u009b";
  run.warnings = {{"few-samples", "only 4 samples were measured", "give --steps 100 or more"},
                  {"odd", "a\rb", ""}};
  return run;
}

RunRecord bare_run(Status status, const std::string& reason) {
  RunRecord run;
  run.id = "mlp/ddp/n4/b64/fp32";
  run.status = status;
  run.reason = reason;
  run.workload.name = "mlp";
  run.strategy.name = "ddp";
  run.strategy.world_size = 4;
  return run;
}

std::string golden(const std::string& name) {
  std::ifstream file(std::string(PTBENCH_SOURCE_DIR "/tests/reports/golden/") + name,
                     std::ios::binary);
  if (!file) throw std::runtime_error("no golden file " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

ResultFile file_of(const RunRecord& run) {
  ResultFile file = example_file();
  file.runs = {run};
  return file;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace ptbench::testing

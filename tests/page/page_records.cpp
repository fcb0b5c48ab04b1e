#include "tests/page/page_records.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace ptbench::testing {

RunRecord measured_run(const Measured& measured) {
  constexpr std::array kDeviations{-1.0, 0.5, 0.0, -0.5, 1.0};
  constexpr Size kBatch = 64;
  RunRecord run;
  run.id = fmt::format("mlp/{}/n{}/b{}/fp32", measured.strategy, measured.ranks, kBatch);
  run.workload.name = "mlp";
  run.strategy.name = measured.strategy;
  run.strategy.world_size = measured.ranks;
  run.strategy.threads = 1;
  run.strategy.batch_per_replica = kBatch;
  run.strategy.global_batch = kBatch * measured.ranks;
  const double step = static_cast<double>(*run.strategy.global_batch) / measured.throughput;
  for (std::size_t at = 0; at < kDeviations.size(); ++at) {
    const double seconds = step * (1 + kDeviations[at] * measured.noise);
    run.samples.repetitions.push_back(
        {.median_seconds = seconds,
         .placement = "near",
         .clean_slices = static_cast<Size>(at) < measured.clean ? 4 : 0,
         .mean_seconds = seconds});
  }
  run.step_seconds.median = step;
  run.step_seconds.mean = step;
  run.throughput.value = measured.throughput;
  run.throughput.ci95 = Interval{measured.throughput * (1 - measured.noise),
                                 measured.throughput * (1 + measured.noise)};
  run.phases_seconds.forward = step * 0.3;
  run.phases_seconds.backward = step * 0.6;
  run.phases_seconds.optimizer = step * 0.1;
  return run;
}

RunRecord scaled(RunRecord run, const std::string& baseline, double efficiency, double half_width) {
  ScalingRecord scaling;
  scaling.mode = ScalingMode::weak;
  scaling.baseline = baseline;
  scaling.efficiency = efficiency;
  scaling.speedup = efficiency * static_cast<double>(run.strategy.world_size);
  scaling.efficiency_ci95 = Interval{efficiency - half_width, efficiency + half_width};
  const double lost = 1 - efficiency;
  scaling.loss = {.compute_slowdown = 0.2 * lost,
                  .batch_effect = 0,
                  .communication = 0.6 * lost,
                  .wait = 0.1 * lost,
                  .data = 0,
                  .overhead = 0.1 * lost};
  run.scaling = std::move(scaling);
  return run;
}

RunRecord troubled(RunRecord run, Status status, const std::string& reason) {
  run.status = status;
  run.reason = reason;
  run.throughput = {};
  run.step_seconds = {};
  run.samples = {};
  run.scaling.reset();
  return run;
}

ResultFile page_file(std::vector<RunRecord> runs) {
  ResultFile file;
  file.generator = {
      .name = "ptbench", .version = "0.1.0", .git_commit = "abc1234", .build_type = "Release"};
  file.created = "2026-11-23T03:10:33Z";
  file.command = {"ptbench", "sweep", "-w", "mlp", "--data", "it's here"};
  file.environment.host.name = "vm-17";
  file.environment.cpu.model = "Some Maker CPU";
  file.environment.cpu.cores = 2;
  file.runs = std::move(runs);
  return file;
}

ResultFile good_sweep() {
  const RunRecord serial = measured_run({});
  return page_file({serial,
                    scaled(measured_run({.strategy = "ddp", .ranks = 2, .throughput = 18'000}),
                           serial.id, 0.9, 0.01),
                    scaled(measured_run({.strategy = "dp", .ranks = 2, .throughput = 14'000}),
                           serial.id, 0.7, 0.01)});
}

ResultFile noisy_sweep() {
  ResultFile file = good_sweep();
  for (RunRecord& run : file.runs) {
    for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
    run.warnings.push_back({"too-noisy", "the repetitions scatter by 5.74 %", "Measure again."});
  }
  return file;
}

std::string hostile_text() {
  return "</script><img src=x "
         "onerror=\"window.harmed=1\"><b>'\"&amp;`${window.harmed=1}\u2028\x01]]>";
}

ResultFile hostile_file() {
  const std::string text = hostile_text();
  ResultFile file = good_sweep();
  file.created = text;
  file.command = {text, "'", text};
  file.generator = {.name = text, .version = text, .git_commit = text, .build_type = text};
  file.environment.host = {.name = text, .os = text, .kernel = text};
  file.environment.cpu = {.model = text, .cores = 2, .isa = {text}};
  file.environment.devices = {{.id = text, .name = text, .memory_bytes = {}}};
  file.environment.libraries = {{text, text}};
  file.environment.variables = {{text, text}};
  const std::string baseline = file.runs.front().id;
  for (RunRecord& run : file.runs) {
    if (run.scaling) run.scaling->baseline = text + baseline;
    run.id = text + run.id;
    run.workload.name = text;
    run.strategy.name += text;
    run.strategy.precision = text;
    run.verification.reason = text;
    run.verification.max_relative_error = 1e-6;
    run.verification.worst_tensor = text;
    run.warnings = {{text, text, text}};
  }
  file.runs.push_back(troubled(measured_run({.strategy = text}), Status::failed, text));
  return file;
}

}  // namespace ptbench::testing

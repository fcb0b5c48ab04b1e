#include "tests/support/made_results.h"

#include <cmath>
#include <utility>

namespace ptbench::testing {
namespace {

constexpr double kRate = 1000;  // samples/s of a rank

void add_samples(RunRecord& run, double step, Size clean) {
  for (Size repetition = 0; repetition < 3; ++repetition) {
    const bool is_clean = repetition < clean;
    run.samples.repetitions.push_back(
        {.median_seconds = step, .placement = "near", .clean_slices = is_clean ? 2 : 0});
    for (Size slice = 0; slice < 2; ++slice) {
      run.samples.slices.push_back({.repetition = repetition,
                                    .first = std::ssize(run.samples.step_seconds),
                                    .count = 5,
                                    .clean = is_clean,
                                    .median_seconds = step,
                                    .placement = slice == 0 ? "near" : "far"});
      for (int sample = 0; sample < 5; ++sample)
        run.samples.step_seconds.push_back(step * (1 + 0.01 * sample));
    }
  }
  run.samples.count = std::ssize(run.samples.step_seconds);
  run.samples.steps_per_sample = 1;
}

void add_scaling(RunRecord& run, const Made& made) {
  const double efficiency = made.efficiency;
  const double lost = 1 - efficiency;
  run.scaling = ScalingRecord{};
  run.scaling->mode = made.mode;
  run.scaling->baseline = made.baseline;
  run.scaling->speedup = efficiency * static_cast<double>(made.ranks);
  run.scaling->efficiency = efficiency;
  if (!made.all_cores.empty()) run.scaling->all_cores = made.all_cores;
  if (made.baseline == run.id) return;
  run.scaling->efficiency_ci95 = Interval{.low = 0.99 * efficiency, .high = 1.01 * efficiency};
  run.scaling->loss = {.compute_slowdown = 0.5 * lost,
                       .batch_effect = 0.0,
                       .communication = 0.6 * lost,
                       .wait = 0.1 * lost,
                       .data = 0.0,
                       .overhead = -0.2 * lost};
}

}  // namespace

RunRecord made_run(const Made& made) {
  RunRecord run;
  run.workload.name = made.workload;
  run.id = made.workload + "/" + made.strategy + "/n" + std::to_string(made.ranks) + "/b" +
           std::to_string(made.batch) + "/fp32" + made.options;
  run.strategy.name = made.strategy;
  run.strategy.world_size = made.ranks;
  run.strategy.threads = 1;
  run.strategy.batch_per_replica = made.batch;
  run.strategy.global_batch = made.batch * made.ranks;
  const double rate = kRate * made.efficiency * static_cast<double>(made.ranks);
  const double step = static_cast<double>(made.batch * made.ranks) / rate;
  run.throughput.value = rate;
  run.throughput.ci95 = Interval{.low = 0.99 * rate, .high = 1.01 * rate};
  run.step_seconds.median = step;
  run.step_seconds.ci95 = Interval{.low = 0.99 * step, .high = 1.01 * step};
  run.phases_seconds.data = 0.05 * step;
  run.phases_seconds.forward = 0.3 * step;
  run.phases_seconds.backward = 0.5 * step;
  run.phases_seconds.optimizer = 0.1 * step;
  if (made.ranks > 1) {
    run.phases_seconds.communication = 0.2 * step;
    run.phases_seconds.communication_exposed = 0.05 * step;
  }
  add_samples(run, step, made.clean);
  if (!made.baseline.empty()) add_scaling(run, made);
  return run;
}

ResultFile made_sweep(const std::vector<std::string>& strategies, Size most) {
  const std::string serial = "mlp/serial/n1/b64/fp32";
  const std::string all_cores = "mlp/serial/n1/b128/fp32/threads=2";
  std::vector<RunRecord> runs;
  runs.push_back(made_run({.strategy = "serial", .baseline = serial, .all_cores = all_cores}));
  double step = 0.05;
  for (const std::string& strategy : strategies) {
    double efficiency = 1;
    for (Size ranks = 1; ranks <= most; ranks *= 2, efficiency *= 1 - step)
      runs.push_back(made_run({.strategy = strategy,
                               .ranks = ranks,
                               .efficiency = efficiency,
                               .baseline = serial,
                               .all_cores = all_cores}));
    step += 0.01;
  }
  RunRecord all = made_run({.strategy = "serial", .batch = 128, .options = "/threads=2"});
  all.strategy.threads = 2;
  all.throughput.value = 1.8 * kRate;
  runs.push_back(std::move(all));
  return file_of(std::move(runs));
}

ResultFile file_of(std::vector<RunRecord> runs, const std::string& created) {
  ResultFile file;
  file.generator.git_commit = "abc1234def";
  file.created = created;
  file.command = {"ptbench", "sweep"};
  file.environment.host.name = "vm-17";
  file.environment.cpu.model = "Some Maker CPU";
  file.runs = std::move(runs);
  return file;
}

std::vector<CollectiveRecord> made_collectives(const std::string& communicator, Size ranks) {
  std::vector<CollectiveRecord> records;
  for (Bytes bytes = 4096; bytes <= Bytes{4} << 20U; bytes *= 4)
    records.push_back({.collective = "all_reduce",
                       .communicator = communicator,
                       .ranks = ranks,
                       .bytes = bytes,
                       .seconds = 2e-6 + 1e-9 * static_cast<double>(bytes) / 1024,
                       .wrong = 0});
  return records;
}

}  // namespace ptbench::testing

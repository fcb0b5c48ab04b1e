#include "src/measure/emulated_run.h"

namespace ptbench {

void leave_out_durations(RunRecord& run) {
  // How many steps a sample has is a matter of how long they take.
  run.samples.count = run.samples.count.value_or(0) * run.samples.steps_per_sample.value_or(1);
  run.samples.steps_per_sample = 1;
  run.samples.step_seconds.clear();
  run.samples.slices.clear();
  run.samples.repetitions.clear();
  run.step_seconds = {};
  run.throughput = {};
  run.phases_seconds = {};
  run.compute.flops_per_second.reset();
  run.compute.peak_flops_per_second.reset();
  run.compute.utilization.reset();
  run.compute.effective_utilization.reset();
  run.compute.peak_source.reset();
  run.energy.reset();
  run.time_to_target_seconds.reset();
  for (RankRecord& rank : run.ranks) {
    rank.compute_seconds.reset();
    rank.wait_seconds.reset();
  }
  remove_warning(run, "stood-still");
}

}  // namespace ptbench

#include "src/measure/emulated_run.h"

#include <algorithm>
#include <vector>

#include "src/measure/slice_probe.h"

namespace ptbench {
namespace {

bool tells_of_devices(const SliceRecord& slice) {
  return slice.device_temperature_celsius || slice.device_throttle_reasons ||
         slice.device_other_processes || slice.device_foreign_fraction;
}

void add_names(const std::vector<std::string>& names, std::vector<std::string>& all) {
  for (const std::string& name : names)
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
}

/// What devices told in any slice, as one: how many slices there are is a matter of time, and so is
/// what is known of their clocks, energy and the cores.
std::vector<SliceRecord> devices_of(const std::vector<SliceRecord>& slices) {
  SliceRecord all;
  for (const SliceRecord& slice : slices) {
    all.device_temperature_celsius =
        std::max(all.device_temperature_celsius, slice.device_temperature_celsius);
    if (slice.device_throttle_reasons) {
      if (!all.device_throttle_reasons) all.device_throttle_reasons.emplace();
      add_names(*slice.device_throttle_reasons, *all.device_throttle_reasons);
    }
    all.device_other_processes = std::max(all.device_other_processes, slice.device_other_processes);
    all.device_foreign_fraction =
        std::max(all.device_foreign_fraction, slice.device_foreign_fraction);
  }
  if (!tells_of_devices(all)) return {};
  all.clean = !is_throttled(all) && !is_shared(all);
  return {all};
}

}  // namespace

void leave_out_durations(RunRecord& run) {
  // How many steps a sample has is a matter of how long they take.
  run.samples.count = run.samples.count.value_or(0) * run.samples.steps_per_sample.value_or(1);
  run.samples.steps_per_sample = 1;
  run.samples.step_seconds.clear();
  run.samples.slices = devices_of(run.samples.slices);
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

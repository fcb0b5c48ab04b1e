#include "app/programs/program_probe.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "src/device/affinity.h"
#include "src/device/frequency.h"
#include "src/device/quiet.h"
#include "src/process/process_tree.h"

namespace ptbench {
namespace {

/// A rest of some milliseconds is nothing to steps that last longer than this.
constexpr double kLongSteps = 0.1;

/// Steps use up what loaders prepared while the program rested, in so many times the time it took.
constexpr double kUseOfHelp = 2;

/// That a program which this process starts may use.
std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

/// Of children that have ended, and theirs.
double waited_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  constexpr double kMicrosecond = 1e-6;
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         kMicrosecond * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace

ProgramProbe::ProgramProbe(ProgramSteps& steps)
    : steps_(steps), cpus_(allowed_cpus()), load_(cpus_) {}

std::optional<CpuTimes> ProgramProbe::times() const {
  std::optional<CpuTimes> times = load_.since_boot();
  if (times) times->own += waited_cpu_seconds() + cpu_seconds_of(descendants());
  return times;
}

/// With a thread on each core, which is gone afterwards.
ProgramProbe::View ProgramProbe::look() {
  View view;
  const auto count = static_cast<int>(cpus_.size());
  std::vector<double> frequencies(cpus_.size(), std::numeric_limits<double>::infinity());
  std::optional<LatencyRing> ring;
  if (count > 1) ring.emplace(count);
  {
    std::vector<std::jthread> threads;
    for (int place = 0; place < count; ++place)
      threads.emplace_back([&, place] {
        const auto at = static_cast<std::size_t>(place);
        (void)pin_this_thread(cpus_[at]);
        if (ring) ring->take_part(place);
        frequencies[at] = effective_frequency();
      });
  }
  if (ring) view.latency = ring->worst();
  if (count > 0) view.frequency_hertz = *std::ranges::min_element(frequencies);
  view.times = times();
  return view;
}

void ProgramProbe::begin() {
  steps_.rest();
  begin_ = look();
  energy_.begin();
  // A turn has settled before it looks, and is short.
  const bool is_turn = plan_.seconds < kSliceSeconds;
  const double helped = is_turn ? 0 : steps_.helpers_worked();
  if (steps_.pace() < kLongSteps || helped > 0) {
    const double settle_seconds = is_turn ? 0 : std::max(kSettleSeconds, kUseOfHelp * helped);
    steps_.expect(plan_.seconds + settle_seconds, plan_.steps + 1);
    steps_.settle(settle_seconds);
  }
  if (!is_turn) clock_.begin();
  steps_.expect(plan_.seconds, plan_.steps);
}

SliceConditions ProgramProbe::end() {
  const std::optional<double> mean_frequency = clock_.end();  // a program at rest has another
  steps_.rest();
  const std::optional<double> joules = energy_.end();
  const View end = look();
  SliceConditions conditions;
  conditions.joules = joules;
  if (begin_.latency && end.latency) {
    conditions.core_latency_begin = begin_.latency->seconds;
    conditions.core_latency_end = end.latency->seconds;
    conditions.cores_disturbed = begin_.latency->disturbed || end.latency->disturbed;
  }
  conditions.mean_frequency_hertz = mean_frequency;
  if (begin_.frequency_hertz > 0 && end.frequency_hertz > 0)
    conditions.frequency_hertz = std::min(begin_.frequency_hertz, end.frequency_hertz);
  note_times(begin_.times, end.times, conditions);
  conditions.device_unwatched = steps_.uses_accelerator();
  return conditions;
}

}  // namespace ptbench

#include "strategies/phase_pass.h"

#include "src/measure/step_phases.h"

namespace ptbench {
namespace {

/// Longer steps are slow; all in seconds.
constexpr double kSlowStep = 0.1;
constexpr double kAtLeast = 0.3;
constexpr double kAtMost = 2;

struct StepCounts {
  Size warmup;
  Size measured;
};

StepCounts counts_for(double step_seconds) {
  return step_seconds > kSlowStep ? StepCounts{.warmup = 2, .measured = 3}
                                  : StepCounts{.warmup = 10, .measured = 20};
}

/// Observes for as long as it lives, also where a step throws.
class Observation {
 public:
  Observation(Strategy& strategy, PhaseTimer& timer) : strategy_(strategy) {
    strategy_.observe(&timer);
  }
  ~Observation() { strategy_.observe(nullptr); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  Strategy& strategy_;
};

/// The last step says how long a step lasts: the first often takes longer than the others.
void warm_up(Strategy& strategy, const Clock& clock, const std::function<bool()>& keep_going) {
  double seconds = 0;
  for (Size step = 0; step < counts_for(seconds).warmup && keep_going(); ++step) {
    const double begin = clock.now();
    (void)strategy.step();
    seconds = clock.now() - begin;
  }
}

bool is_enough(const PhaseTimer& timer, double elapsed) {
  if (timer.steps() == 0) return false;
  if (elapsed >= kAtMost) return true;
  return elapsed >= kAtLeast && timer.steps() >= counts_for(timer.step_seconds()).measured;
}

}  // namespace

ObservedSteps measure_phases(Strategy& strategy, const Clock& clock,
                             const std::function<bool()>& keep_going) {
  warm_up(strategy, clock, keep_going);
  PhaseTimer timer(clock, &strategy.replica().queue());
  const Observation observation(strategy, timer);
  const double begin = clock.now();
  while (!is_enough(timer, clock.now() - begin) && keep_going()) (void)strategy.step();
  return {.phases = timer.means(), .replicas = strategy.replica_seconds()};
}

void trace_steps(Strategy& strategy, PhaseTimer& timer, const TraceWindow& window,
                 const Clock& clock, const std::function<bool()>& keep_going) {
  if (!window.first) warm_up(strategy, clock, keep_going);
  while (strategy.steps() + 1 < window.first.value_or(0) && keep_going()) (void)strategy.step();
  const Observation observation(strategy, timer);
  for (Size step = 0; step <= window.count && keep_going(); ++step) (void)strategy.step();
}

}  // namespace ptbench

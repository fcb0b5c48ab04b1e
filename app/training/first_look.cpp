#include "app/training/first_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "src/base/units.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

constexpr double kLookSeconds = 0.2;  // after the first step, which meets cold caches
constexpr double kMostSeconds = 0.5;  // with it
constexpr double kLongestStepSeconds = 0.15;
constexpr double kSlowCoreFlops = 2e10;  // operations a second, which any core reaches

/// Seconds of the shortest step, on rank 0: what else runs only adds to it. 0 where that was not
/// found out.
double seconds_of_step(Strategy& strategy, const Clock& clock,
                       const std::function<bool()>& keep_going) {
  const double begin = clock.now();
  double last = begin;
  double least = 0;
  double after_first = 0;
  while (keep_going() && last - begin < kMostSeconds && after_first < kLookSeconds) {
    (void)strategy.step();
    const double now = clock.now();
    if (least > 0) after_first += now - last;
    least = least > 0 ? std::min(least, now - last) : now - last;
    last = now;
  }
  return least;
}

}  // namespace

bool is_short_step(double flops, Size cores) {
  return flops / (kSlowCoreFlops * static_cast<double>(cores)) <= kLongestStepSeconds;
}

void take_first_look(const RankRole& role, const TrainingContext& context,
                     const TrainingShape& shape, const Choices& guessed, RunProgress& watch,
                     Progress& progress) {
  watch.enter(RankPhase::warming_up);
  const auto strategy =
      build_training(context, shape,
                     std::make_shared<const ProgramPlan>(context.graph, shape.lowering(),
                                                         context.backend(), guessed));
  start_weights(context.config, strategy->replica().program());
  double seconds = 0;
  role.in_step(*strategy,
               [&] { seconds = seconds_of_step(*strategy, context.clock, watch.keep_going()); });
  if (!role.leads()) return;
  watch.stop_if_interrupted();
  const auto samples = static_cast<double>(context.config.batch.global_batch());
  if (seconds > 0)
    progress.keep(fmt::format("about {} samples/s, unverified", format_si(samples / seconds)));
}

}  // namespace ptbench

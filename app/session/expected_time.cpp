#include "app/session/expected_time.h"

#include <algorithm>

#include "src/measure/turns.h"

namespace ptbench {
namespace {

/// Of a core in a training step, which processors of the last ten years reach.
constexpr double kOperationsPerSecond = 3e10;
/// Of a process until its first step, and of each further rank.
constexpr double kStartSeconds = 0.6;
constexpr double kStartOfRank = 0.2;
/// Of a program of the user: it starts an interpreter and loads a framework.
constexpr double kStartOfProgram = 3;
/// Steps of an unknown program are taken to last so long.
constexpr double kUnknownStep = 0.02;

constexpr double kLeastWarmUp = 0.4;
constexpr double kWarmUpSteps = 30;
constexpr double kSlowStep = 0.1;
constexpr double kSlowWarmUpSteps = 2;
/// Two slices of half a second.
constexpr double kMeasuredSeconds = 1.1;

double warm_up_seconds(double step) {
  return step > kSlowStep ? kSlowWarmUpSteps * step : std::max(kLeastWarmUp, kWarmUpSteps * step);
}

double start_seconds(bool is_program, Size ranks) {
  return (is_program ? kStartOfProgram : kStartSeconds) +
         kStartOfRank * static_cast<double>(ranks - 1);
}

double step_seconds(double operations, double cores) {
  return operations > 0 ? operations / (kOperationsPerSecond * cores) : kUnknownStep;
}

double seconds_of_turn(const LockstepPlan& plan, double step) {
  return std::max(plan.turn_seconds, static_cast<double>(plan.turn_steps) * step) +
         std::max(kSettleSeconds, step);
}

/// That a process measures in one round.
double measured_seconds(const SweepLength& length, std::size_t sides, double step) {
  const double share = length.max_time_seconds / static_cast<double>(length.rounds);
  const double least =
      std::min(length.min_time_seconds / static_cast<double>(length.rounds), share);
  if (!length.lockstep) return std::min(share, std::max(least, kMeasuredSeconds));
  const LockstepPlan& plan = *length.lockstep;
  const double palindrome = 2 * seconds_of_turn(plan, step);
  if (sides > 1)
    return std::min(static_cast<double>(plan.rounds) * palindrome,
                    std::max(plan.most_seconds / static_cast<double>(sides), palindrome));
  const double palindromes =
      std::max(static_cast<double>(plan.rounds), least / (2 * plan.turn_seconds));
  return std::max(palindrome, std::min(palindromes * palindrome, share));
}

double seconds_of_row(const SweepRow& row, std::size_t sides, const SweepLength& length) {
  const StrategyRecord& strategy = row.record.strategy;
  const auto cores = static_cast<double>(strategy.threads.value_or(1) * strategy.world_size);
  const double step = step_seconds(row.step_operations, cores);
  const double round = start_seconds(row.starts_program, strategy.world_size) +
                       warm_up_seconds(step) + measured_seconds(length, sides, step);
  const double all = static_cast<double>(length.rounds) * round * static_cast<double>(sides);
  const bool is_limited = sides == 1 && !length.rounds_are_asked && !length.is_fixed;
  return is_limited ? std::min(all, std::max(round, length.max_time_seconds)) : all;
}

}  // namespace

double operations_of_step(const RunConfig& config) {
  if (!config.workload.build) return 0;
  const Graph graph = config.workload.build(config.workload.input_shape);
  return graph.flops_per_sample() * static_cast<double>(config.batch.global_batch());
}

double expected_seconds(std::span<const SweepRow> rows, std::size_t sides,
                        const SweepLength& length) {
  double seconds = 0;
  for (const SweepRow& row : rows)
    if (row.is_possible()) seconds += seconds_of_row(row, sides, length);
  return seconds;
}

double expected_seconds(const RunConfig& config, Size repetitions, double least_seconds,
                        double most_seconds) {
  const auto cores =
      static_cast<double>(config.threads) * static_cast<double>(config.options.nproc);
  const double step = step_seconds(operations_of_step(config), cores);
  const double measured = std::min(std::max(least_seconds, kMeasuredSeconds), most_seconds);
  return static_cast<double>(repetitions) *
         (start_seconds(config.program.has_value(), config.options.nproc) +
          std::min(warm_up_seconds(step), most_seconds / 2) + measured);
}

}  // namespace ptbench

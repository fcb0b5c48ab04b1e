#include "app/programs/program_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/measure/sampling.h"
#include "src/process/process_tree.h"

namespace ptbench {
namespace {

constexpr double kSecondsPerTick = 1e-9;
/// What the program is granted beyond the steps that it has reported, where there is no plan.
constexpr double kAheadSeconds = 0.2;
/// The first grant, when nothing is known of the pace.
constexpr Size kFirstSteps = 2;
constexpr Size kMostStepsAhead = 1'000'000;
constexpr double kPaceWeight = 0.1;  ///< of the newest step
/// Times the longer of the two newest steps, at the most: one that compiled something is not
/// remembered for long, and one that was left out does not make the others short.
constexpr double kMostBeside = 2;

// How the program comes to rest: loaders fill their queues, teams of threads stop spinning.
constexpr double kLongestUnrest = 0.25;
constexpr std::chrono::microseconds kBetweenLooks{300};
/// Where processes beside the ranks work on for fewer seconds, it is nothing.
constexpr double kLeastHelp = 0.02;

/// As long as its steps, a program may rest or do something else.
constexpr double kBesideSteps = 4;
/// No interval counts for more seconds: this process may have been stopped while it waited.
constexpr double kLongestInterval = 1;

}  // namespace

bool ProgramSteps::uses_accelerator() const {
  return std::ranges::any_of(program_.server().ranks().hellos(), [](const auto& hello) {
    return hello && hello->device && !hello->device->starts_with("cpu");
  });
}

double ProgramSteps::now() const { return kSecondsPerTick * static_cast<double>(nanoseconds_); }

bool ProgramSteps::take() {
  const auto step = program_.server().ranks().take();
  if (!step) return false;
  taken_ = step->number;
  nanoseconds_ += step->nanoseconds;
  const double seconds = kSecondsPerTick * static_cast<double>(step->nanoseconds);
  pace_ = taken_ <= kFirstSteps ? seconds : (1 - kPaceWeight) * pace_ + kPaceWeight * seconds;
  pace_ = std::min(pace_, kMostBeside * std::max(seconds, previous_));
  previous_ = seconds;
  return true;
}

void ProgramSteps::step() {
  while (!take()) {
    if (program_.has_left() || program_.is_interrupted()) throw NoMoreSteps{};
    is_planned_ ? grant_plan() : grant_ahead();
    listen();
  }
}

void ProgramSteps::end_after(std::optional<double> seconds) {
  most_seconds_ = seconds;
  told_before_ = now();
  elapsed_ = 0;
  last_look_ = clock_.now();
}

void ProgramSteps::hear() {
  program_.listen();
  if (!most_seconds_) return;
  const double look = clock_.now();
  elapsed_ += std::min(look - std::exchange(last_look_, look), kLongestInterval);
  const double told = now() - told_before_;
  if (elapsed_ < *most_seconds_ + kBesideSteps * told) return;
  throw run_error(
      fmt::format("the program trained for {:.1f} s, but reports steps that last {:.3g} s in all",
                  elapsed_, told),
      "let it report nanoseconds of CLOCK_MONOTONIC, and count what it does between steps as part "
      "of them (docs/steps_protocol.md)");
}

void ProgramSteps::listen() {
  hear();
  if (!is_planned_) grant_ahead();
}

Size ProgramSteps::steps_within(double seconds) const {
  if (pace_ <= 0) return kFirstSteps;
  constexpr double kLeastPace = 1e-9;
  const double steps = std::ceil(seconds / std::max(pace_, kLeastPace));
  return static_cast<Size>(std::clamp(steps, 1.0, static_cast<double>(kMostStepsAhead)));
}

void ProgramSteps::grant_ahead() {
  const std::int64_t done = program_.server().ranks().done();
  const Size ahead = steps_within(kAheadSeconds);
  // Half of it is enough between two words, and spares it some.
  if (program_.server().granted() - done <= ahead / 2) program_.server().grant(done + ahead);
}

void ProgramSteps::grant_plan() {
  if (program_.server().granted() > taken_) return;
  double left = std::max(0.0, plan_end_ - now());
  // A sample of short steps more, so that those at its end are not granted one by one.
  constexpr double kSpare = 1.1;
  constexpr double kSampleSeconds = SamplingConfig{}.sample_seconds;
  if (is_timed_ && pace_ < kSampleSeconds) left += kSpare * kSampleSeconds;
  const Size by_time = left > 0 ? steps_within(left) : 1;
  program_.server().grant(std::max(taken_ + by_time, plan_last_step_));
}

void ProgramSteps::expect(double seconds, Size steps) {
  is_planned_ = true;
  is_timed_ = seconds > 0;
  plan_end_ = now() + seconds;
  plan_last_step_ = taken_ + steps;
}

void ProgramSteps::rest() {
  ProgramServer& server = program_.server();
  while (server.ranks().done() < server.granted()) {
    if (program_.has_left() || program_.is_interrupted()) return;
    hear();
  }
  while (take()) ++dropped_;
  // Who has rested would fill its queues further.
  if (std::exchange(rested_after_, server.granted()) == server.granted()) return;
  std::vector<int> ranks;
  std::vector<int> helpers;
  for (const int process : descendants())
    (server.is_rank(process) ? ranks : helpers).push_back(process);
  const double begin = clock_.now();
  double rested = 0;
  helpers_worked_ = 0;
  for (int quiet = 0; quiet < 2 && rested < kLongestUnrest; rested = clock_.now() - begin) {
    const bool helpers_sleep = are_asleep(helpers);
    if (!helpers_sleep) helpers_worked_ = clock_.now() - begin;
    quiet = helpers_sleep && are_asleep(ranks) ? quiet + 1 : 0;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (helpers_worked_ < kLeastHelp) helpers_worked_ = 0;
  ++rests_;
  if (helpers_worked_ > 0) ++helped_rests_;
  help_seconds_ += helpers_worked_;
}

double ProgramSteps::usual_help() const {
  return 2 * helped_rests_ > rests_ ? help_seconds_ / static_cast<double>(helped_rests_) : 0;
}

void ProgramSteps::settle(double seconds) {
  const double begin = now();
  do {
    step();
    ++dropped_;
  } while (now() - begin < seconds);
}

void ProgramSteps::observe(Size steps) {
  ProgramServer& server = program_.server();
  server.ranks().keep_phases();
  server.grant(server.granted() + steps, true);
  rest();
}

}  // namespace ptbench

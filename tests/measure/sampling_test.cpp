#include "src/measure/sampling.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "tests/measure/allocation_count.h"
#include "tests/measure/fake_clock.h"

namespace ptbench {
namespace {

/// A training run on a fake clock: step n, counted from 1, takes `step_seconds(n)`. Where a test
/// asks for a sum of times exactly, steps are powers of two.
struct FakeRun {
  testing::FakeClock clock;
  std::function<double(Size)> step_seconds = [](Size) { return 0.006; };
  Size steps = 0;
  Size interrupt_after = Limits::kUnlimited;
  std::vector<SamplingProgress> progress;

  Samples measure(StopRule& rule, const SamplingConfig& config = {}) {
    return ptbench::measure([&] { clock.pass(step_seconds(++steps)); }, config, rule, clock,
                            [&] { return steps >= interrupt_after; },
                            [&](const SamplingProgress& now) { progress.push_back(now); });
  }
};

FakeRun with_steps_of(double seconds) {
  FakeRun run;
  run.step_seconds = [seconds](Size) { return seconds; };
  return run;
}

}  // namespace

TEST_CASE("automatic warm-up lasts 30 steps and 0.3 s", "[measure]") {
  FixedSamples rule(1);
  SECTION("steps of 8 ms: the time decides") {
    CHECK(with_steps_of(0x1p-7).measure(rule).warmup_discarded == 39);
  }
  SECTION("steps of 50 ms: the steps decide") {
    CHECK(with_steps_of(0.05).measure(rule).warmup_discarded == 30);
  }
  SECTION("steps of 3 µs") {
    CHECK(with_steps_of(3e-6).measure(rule).warmup_discarded == Approx(100'000).margin(1));
  }
  SECTION("steps of 0.2 s: two are enough") {
    CHECK(with_steps_of(0.2).measure(rule).warmup_discarded == 2);
  }
  SECTION("only the first step is slow") {
    FakeRun run;
    run.step_seconds = [](Size step) { return step == 1 ? 2.0 : 0.006; };
    CHECK(run.measure(rule).warmup_discarded == 30);
  }
  SECTION("its own limit ends it") {
    CHECK(with_steps_of(0x1p-4).measure(rule, {.warmup_limit_seconds = 0.5}).warmup_discarded == 8);
  }
}

TEST_CASE("a warm-up that its limit cut short says so", "[measure]") {
  FixedSamples rule(1);
  const SamplingConfig short_limit{.warmup_limit_seconds = 0.5};
  CHECK(with_steps_of(0x1p-4).measure(rule, short_limit).warmup_was_cut);
  CHECK_FALSE(with_steps_of(0x1p-4).measure(rule).warmup_was_cut);
  CHECK_FALSE(with_steps_of(0x1p-7).measure(rule, short_limit).warmup_was_cut);
  CHECK_FALSE(with_steps_of(0.2).measure(rule, short_limit).warmup_was_cut);
  CHECK_FALSE(with_steps_of(0x1p-4)
                  .measure(rule, {.warmup_steps = 2, .warmup_limit_seconds = 0.1})
                  .warmup_was_cut);
}

TEST_CASE("warm-up goes on while steps become faster, but not for ever", "[measure]") {
  FixedSamples rule(1);
  FakeRun run;
  SECTION("steps settle after a while") {
    run.step_seconds = [](Size step) { return step <= 70 ? 0.01 - 5e-5 * double(step) : 0.0065; };
    const Samples samples = run.measure(rule);
    CHECK(samples.warmup_discarded > 70);
    CHECK(samples.warmup_discarded < 120);
  }
  SECTION("steps never settle") {
    run.step_seconds = [](Size step) { return 0.05 * std::pow(0.98, double(step)); };
    (void)run.measure(rule, {.sample_seconds = 0});
    CHECK(run.progress.back().elapsed_seconds == Approx(1.5).margin(0.1));
  }
}

TEST_CASE("a given warm-up is kept to the step", "[measure]") {
  FixedSteps rule(5);
  for (const Size warmup : {0, 1, 7}) {
    FakeRun run;
    const Samples samples = run.measure(rule, {.warmup_steps = warmup});
    CHECK(samples.warmup_discarded == warmup);
    CHECK(run.steps == warmup + 5);
  }
}

TEST_CASE("a slow step is a sample", "[measure]") {
  FixedSteps rule(20);
  const Samples samples = with_steps_of(0.006).measure(rule, {.warmup_steps = 10});
  CHECK(samples.steps_per_sample == 1);
  CHECK(samples.step_seconds.size() == 20);
  for (const double seconds : samples.step_seconds) CHECK(seconds == Approx(0.006));
  CHECK(samples.stop_reason == StopReason::steps);
  CHECK_FALSE(samples.interrupted);
  CHECK(samples.elapsed_seconds == Approx(30 * 0.006));
}

TEST_CASE("fast steps are put together until they last 1 ms", "[measure]") {
  FixedSamples rule(10);
  FakeRun run = with_steps_of(3e-6);
  const Samples samples = run.measure(rule);
  CHECK(samples.step_seconds.size() == 10);
  CHECK(samples.steps == 10 * samples.steps_per_sample);
  CHECK(static_cast<double>(samples.steps_per_sample) * 3e-6 >= 1e-3);
  CHECK(static_cast<double>(samples.steps_per_sample) * 3e-6 <= 1.2e-3);
  CHECK(run.steps == samples.warmup_discarded + samples.steps);
  for (const double seconds : samples.step_seconds) CHECK(seconds == Approx(3e-6));
}

TEST_CASE("a fixed number of steps is kept although samples do not divide it", "[measure]") {
  for (const Size steps : {1, 2, 366, 367, 368, 1000, 12'345}) {
    FixedSteps rule(steps);
    FakeRun run = with_steps_of(3e-6);
    const Samples samples = run.measure(rule, {.warmup_steps = 10});
    CHECK(samples.steps == steps);
    CHECK(run.steps == 10 + steps);
    const Size per_sample = samples.steps_per_sample;
    CHECK(std::ssize(samples.step_seconds) == (steps + per_sample - 1) / per_sample);
    CHECK(samples.step_seconds.back() == Approx(3e-6));
  }
}

TEST_CASE("without warm-up the first sample finds out how long a step is", "[measure]") {
  FixedSamples rule(5);
  SECTION("fast steps") {
    const Samples samples = with_steps_of(3e-6).measure(rule, {.warmup_steps = 0});
    CHECK(static_cast<double>(samples.steps) * 3e-6 >= 5 * 1e-3);
    CHECK(samples.steps <= Size{5} * 400);
  }
  SECTION("a slow first step does not make all samples short") {
    FakeRun run;
    run.step_seconds = [](Size step) { return step == 1 ? 0.05 : 3e-6; };
    const Samples samples = run.measure(rule, {.warmup_steps = 0});
    CHECK(samples.step_seconds.front() == Approx(0.05));
    CHECK(static_cast<double>(samples.steps - 1) * 3e-6 >= 4 * 1e-3);
  }
}

TEST_CASE("samples keep their length when the machine becomes faster", "[measure]") {
  FixedSamples rule(10);
  FakeRun run;
  run.step_seconds = [](Size step) { return step <= 30 ? 0.02 : 1e-5; };
  const Samples samples = run.measure(rule);
  CHECK(static_cast<double>(samples.steps) * 1e-5 >= 10 * 0.99e-3);
}

TEST_CASE("a clock that stands still ends nothing but hangs nothing either", "[measure]") {
  FixedSteps rule(2'500'000);
  const Samples samples = with_steps_of(0).measure(rule, {.warmup_steps = 1});
  CHECK(samples.steps == 2'500'000);
}

TEST_CASE("time is over before the samples are", "[measure]") {
  TimeLimit rule(std::make_unique<FixedSamples>(100), 30);
  SECTION("some samples fit") {
    const Samples samples = with_steps_of(1.0).measure(rule);
    CHECK(samples.warmup_discarded == 2);
    CHECK(samples.step_seconds.size() == 28);
    CHECK(samples.stop_reason == StopReason::max_time);
  }
  SECTION("one sample is taken in any case") {
    const Samples samples = with_steps_of(100.0).measure(rule);
    CHECK(samples.step_seconds.size() == 1);
    CHECK(samples.stop_reason == StopReason::max_time);
  }
}

namespace {

/// Tells what a script says, and at which steps it was asked.
class ScriptedProbe final : public SliceProbe {
 public:
  ScriptedProbe(const FakeRun& run, std::vector<SliceConditions> script)
      : run_(run), script_(std::move(script)) {}
  void begin() override { begins.push_back(run_.steps); }
  void glance() override { ++glances; }
  SliceConditions end() override {
    ends.push_back(run_.steps);
    const std::size_t now = std::min(ends.size(), script_.size()) - 1;
    return script_[now];
  }

  std::vector<Size> begins;
  std::vector<Size> ends;
  Size glances = 0;

 private:
  const FakeRun& run_;
  std::vector<SliceConditions> script_;
};

}  // namespace

SliceConditions quiet(double latency) {
  return {.core_latency_begin = latency,
          .core_latency_end = latency,
          .foreign_cpu_fraction = 0,
          .steal_fraction = 0,
          .frequency_hertz = 3e9};
}

TEST_CASE("slices cover the samples, half a second each, and the probe stands at their ends",
          "[measure]") {
  FakeRun run = with_steps_of(0x1p-5);  // 16 steps are half a second
  ScriptedProbe probe(run, {quiet(30e-9), quiet(30e-9), quiet(170e-9)});
  FixedSteps rule(40);
  const Samples samples = run.measure(rule, {.warmup_steps = 10, .probe = &probe});
  REQUIRE(samples.slices.size() == 3);
  CHECK(probe.begins == std::vector<Size>{10, 26, 42});
  CHECK(probe.ends == std::vector<Size>{26, 42, 50});
  CHECK(probe.glances == 40);  // one after each sample
  CHECK(samples.slices[1].first == 16);
  CHECK(samples.slices[1].count == 16);
  CHECK(samples.slices[1].clean == true);
  CHECK(samples.slices[1].placement == "near");
  CHECK(samples.slices[2].placement == "far");
  CHECK(samples.slices[2].count == 8);
  CHECK(samples.slices[2].clean == true);  // a quarter of a second: long enough for load to show
}

TEST_CASE("a slice that is too short to see load is not clean", "[measure]") {
  FakeRun run = with_steps_of(0x1p-5);
  ScriptedProbe probe(run, {quiet(30e-9)});
  FixedSteps rule(7);
  const Samples samples = run.measure(rule, {.warmup_steps = 1, .probe = &probe});
  REQUIRE(samples.slices.size() == 1);
  CHECK(samples.slices.front().clean == false);
}

TEST_CASE("a long step is a slice", "[measure]") {
  FakeRun run = with_steps_of(3.0);
  ScriptedProbe probe(run, {quiet(30e-9)});
  CleanSlices rule(2, 0.4);
  const Samples samples = run.measure(rule, {.probe = &probe});
  CHECK(samples.warmup_discarded == 2);
  CHECK(samples.slices.size() == 2);
  CHECK(samples.steps == 2);
  CHECK(samples.stop_reason == StopReason::noise);
}

TEST_CASE("foreign load prolongs a repetition until slices are clean again", "[measure]") {
  SliceConditions busy = quiet(30e-9);
  busy.foreign_cpu_fraction = 0.3;
  FakeRun run = with_steps_of(0x1p-5);
  ScriptedProbe probe(run, {quiet(30e-9), busy, busy, quiet(30e-9), quiet(30e-9)});
  CleanSlices rule(2, 0.4);
  const Samples samples = run.measure(rule, {.warmup_steps = 0, .probe = &probe});
  CHECK(samples.slices.size() == 4);
  CHECK(samples.slices[1].clean == false);
}

TEST_CASE("what was measured before an interruption is kept", "[measure]") {
  FixedSteps rule(100);
  FakeRun run;
  SECTION("while measuring") {
    run.interrupt_after = 15;
    const Samples samples = run.measure(rule, {.warmup_steps = 10});
    CHECK(samples.interrupted);
    CHECK_FALSE(samples.stop_reason.has_value());
    CHECK(samples.step_seconds.size() == 5);
    CHECK(run.steps == 15);
  }
  SECTION("while warming up") {
    run.interrupt_after = 3;
    const Samples samples = run.measure(rule, {.warmup_steps = 10});
    CHECK(samples.interrupted);
    CHECK(samples.warmup_discarded == 3);
    CHECK(samples.step_seconds.empty());
  }
  SECTION("before the first step") {
    run.interrupt_after = 0;
    CHECK(run.measure(rule).interrupted);
    CHECK(run.steps == 0);
  }
}

TEST_CASE("what a step throws passes through", "[measure]") {
  FixedSteps rule(100);
  FakeRun run;
  run.step_seconds = [](Size step) -> double {
    if (step == 12) throw std::runtime_error("the loss is not finite");
    return 0.006;
  };
  CHECK_THROWS_WITH(run.measure(rule), "the loss is not finite");
}

TEST_CASE("progress counts steps and tells the time left", "[measure]") {
  FixedSteps rule(20);
  FakeRun run;
  (void)run.measure(rule, {.warmup_steps = 10});
  REQUIRE(run.progress.size() == 30);
  CHECK(run.progress[0].warming_up);
  CHECK(run.progress[0].steps == 1);
  CHECK(run.progress[0].seconds_left.value() == Approx(29 * 0.006));
  CHECK_FALSE(run.progress[10].warming_up);
  CHECK(run.progress[10].steps == 1);
  CHECK(run.progress[10].step_seconds == Approx(0.006));
  CHECK(run.progress[10].seconds_left.value() == Approx(19 * 0.006));
  CHECK(run.progress[29].seconds_left.value() == Approx(0).margin(1e-12));
  CHECK(run.progress[29].elapsed_seconds == Approx(30 * 0.006));
}

TEST_CASE("the time left is never more than the limit", "[measure]") {
  TimeLimit rule(std::make_unique<FixedSamples>(100), 10);
  FakeRun run = with_steps_of(1.0);
  (void)run.measure(rule);
  CHECK(run.progress[0].seconds_left.value() == Approx(9));
  CHECK(run.progress.back().seconds_left.value() == Approx(0).margin(1e-12));
}

TEST_CASE("time spent in progress does not count as training", "[measure]") {
  testing::FakeClock clock;
  FixedSteps rule(20);
  const Samples samples =
      measure([&] { clock.pass(0.006); }, {.warmup_steps = 10}, rule, clock, [] { return false; },
              [&](const SamplingProgress&) { clock.pass(1.0); });
  for (const double seconds : samples.step_seconds) CHECK(seconds == Approx(0.006));
}

TEST_CASE("nothing is allocated between the first measured step and the last", "[measure]") {
  testing::FakeClock clock;
  constexpr Size kWarmup = 10;
  constexpr Size kSteps = 5000;
  for (const double seconds : {0.006, 3e-4, 3e-6}) {
    FixedSteps rule(kSteps);
    Size steps = 0;
    std::size_t at_first = 0;
    std::size_t at_last = 0;
    const auto step = [&] {
      ++steps;
      if (steps == kWarmup + 1) at_first = testing::allocation_count();
      if (steps == kWarmup + kSteps) at_last = testing::allocation_count();
      clock.pass(seconds);
    };
    const Samples samples = measure(
        step, {.warmup_steps = kWarmup}, rule, clock, [] { return false; },
        [](const SamplingProgress&) {});
    CHECK(samples.steps == kSteps);
    CHECK(at_last == at_first);
    CHECK(at_first > 0);
  }
}

TEST_CASE("a rule that measures nothing is a defect", "[measure]") {
  FixedSteps rule(0);
  CHECK_THROWS_AS(FakeRun().measure(rule), Defect);
}

TEST_CASE("a gap that no step explains makes its slice unclean", "[measure]") {
  const double usual = GENERATE(3e-6, 0.006, 1.25);
  FakeRun run;
  FixedSteps rule(usual < 1e-3 ? 2'000'000 : 400);
  const Size stopped = usual < 1e-3 ? 1'000'000 : 200;
  run.step_seconds = [=](Size step) { return step == stopped ? usual + 3 : usual; };
  const Samples samples = run.measure(rule, {.warmup_steps = 2});
  CHECK(samples.standstill.count == 1);
  CHECK(samples.standstill.seconds == Approx(3).epsilon(0.01));
  const auto unclean = std::ranges::count_if(
      samples.slices, [](const SliceRecord& slice) { return slice.clean == false; });
  CHECK(unclean == 1);
}

TEST_CASE("steps that other programs slow down are no gaps", "[measure]") {
  const double usual = GENERATE(3e-6, 0.006, 1.25);
  FakeRun run;
  FixedSamples rule(100);
  run.step_seconds = [usual](Size step) { return step % 3 == 0 ? 2.2 * usual : usual; };
  const Samples samples = run.measure(rule, {.warmup_steps = 0});
  CHECK(samples.standstill.count == 0);
  for (const SliceRecord& slice : samples.slices) CHECK(slice.clean == true);
}

namespace {

/// Grants so many turns, and keeps what was measured in them.
struct FakeTurns final : TurnSource {
  explicit FakeTurns(Size wanted) : left(wanted) {}
  std::optional<Turn> next() override {
    if (clock != nullptr) clock->pass(asleep);
    if (left-- == 0) return std::nullopt;
    return Turn{.number = 10 * std::ssize(taken), .seconds = seconds, .steps = steps};
  }
  void end(const TurnTaken& turn) override { taken.push_back(turn); }

  Size left;
  double seconds = 0.25;
  Size steps = 3;
  testing::FakeClock* clock = nullptr;
  double asleep = 0;
  std::vector<TurnTaken> taken;
};

}  // namespace

TEST_CASE("in lockstep, slices are the turns that are granted", "[measure]") {
  FakeRun run = with_steps_of(0x1p-7);
  FixedSamples rule(1);
  FakeTurns turns(4);
  const Samples samples = run.measure(rule, {.warmup_steps = 5, .turns = &turns});
  REQUIRE(samples.slices.size() == 4);
  for (std::size_t turn = 0; turn < 4; ++turn) {
    CHECK(samples.slices[turn].turn == 10 * static_cast<Size>(turn));
    CHECK(samples.slices[turn].count == 32);  // a quarter of a second
    CHECK(turns.taken[turn].steps == 32);
    CHECK(turns.taken[turn].seconds == 0.25);
  }
  CHECK_FALSE(samples.stop_reason);
  CHECK_FALSE(samples.interrupted);
  CHECK(samples.steps == 4 * 32);
}

TEST_CASE("who else takes turns does not share a device in them", "[measure]") {
  FakeRun run = with_steps_of(0x1p-7);
  FixedSamples rule(1);
  FakeTurns turns(1);
  SliceConditions shared = quiet(30e-9);
  shared.device_other_processes = 1;
  shared.device_foreign_fraction = 0.5;
  ScriptedProbe probe(run, {shared});
  const Samples samples = run.measure(rule, {.warmup_steps = 5, .probe = &probe, .turns = &turns});
  REQUIRE(samples.slices.size() == 1);
  CHECK(samples.slices[0].clean == true);
  CHECK(samples.slices[0].device_other_processes == 1);
  CHECK_FALSE(samples.slices[0].device_foreign_fraction.has_value());
}

namespace {

/// Of a turn in which others had so much of its one core.
SliceConditions turn_with(double foreign_seconds, double seconds = 0.1) {
  SliceConditions conditions = quiet(30e-9);
  conditions.foreign_cpu_fraction = 1;  // what ticks make of so short a time
  conditions.cpu_times = CpuTimes{.cpus = 1,
                                  .total = seconds,
                                  .busy = seconds,
                                  .own = seconds - foreign_seconds,
                                  .elapsed = seconds};
  return conditions;
}

/// The slices of turns of a tenth of a second that the probe tells of.
std::vector<SliceRecord> slices_of_turns(const std::vector<SliceConditions>& script) {
  FakeRun run = with_steps_of(0x1p-7);
  FixedSamples rule(1);
  FakeTurns turns(std::ssize(script));
  turns.seconds = 0.1;
  ScriptedProbe probe(run, script);
  return run.measure(rule, {.warmup_steps = 5, .probe = &probe, .turns = &turns}).slices;
}

bool are_all(const std::vector<SliceRecord>& slices, std::optional<bool> clean) {
  return std::ranges::all_of(slices,
                             [&](const SliceRecord& slice) { return slice.clean == clean; });
}

}  // namespace

TEST_CASE("turns take the load of the span that contains them", "[measure]") {
  std::vector<SliceConditions> script(20, turn_with(0));
  SECTION("clean on a quiet machine, all of them") {
    const std::vector<SliceRecord> slices = slices_of_turns(script);
    CHECK(are_all(slices, true));
    CHECK(slices.front().foreign_cpu_fraction == 0.0);
    CHECK(slices.back().steal_fraction == 0.0);
  }
  SECTION("not clean beside a load, even where single turns look quiet") {
    for (std::size_t turn = 0; turn < 20; turn += 2) script[turn] = turn_with(0.09);
    const std::vector<SliceRecord> slices = slices_of_turns(script);
    CHECK(are_all(slices, false));
    CHECK(slices[1].foreign_cpu_fraction.value() > 0.4);
  }
  SECTION("of a second each") {
    script[0] = turn_with(0.08);
    const std::vector<SliceRecord> slices = slices_of_turns(script);
    CHECK(are_all({slices.begin(), slices.begin() + 9}, false));
    CHECK(are_all({slices.begin() + 11, slices.end()}, true));
  }
  SECTION("the rest that of the last span and of themselves") {
    script.resize(14, turn_with(0));
    for (std::size_t turn = 11; turn < 14; ++turn) script[turn] = turn_with(0.1);
    const std::vector<SliceRecord> slices = slices_of_turns(script);
    CHECK(slices[5].foreign_cpu_fraction == 0.0);
    CHECK(slices[13].foreign_cpu_fraction.value() == Approx(3.0 / 14).epsilon(0.1));
    CHECK(slices[13].clean == false);
  }
}

TEST_CASE("turns too short for any span are of unknown load, and not clean", "[measure]") {
  const std::vector<SliceRecord> few = slices_of_turns(std::vector(4, turn_with(0)));
  CHECK(are_all(few, std::nullopt));
  CHECK_FALSE(few.front().foreign_cpu_fraction.has_value());
  CHECK(are_all(slices_of_turns(std::vector(6, turn_with(0))), true));
  SliceConditions blind = quiet(30e-9);
  blind.foreign_cpu_fraction.reset();
  blind.steal_fraction.reset();
  CHECK(are_all(slices_of_turns(std::vector(20, blind)), std::nullopt));
}

TEST_CASE("a turn long enough to tell its load tells it", "[measure]") {
  SliceConditions whole = turn_with(0.15, 0.3);
  whole.foreign_cpu_fraction = 0.5;
  const std::vector<SliceRecord> slices = slices_of_turns({whole});
  CHECK(slices.at(0).foreign_cpu_fraction == 0.5);
  CHECK(slices.at(0).clean == false);
}

TEST_CASE("the beginning of a turn is left out: its first step, and 8 ms", "[measure]") {
  FixedSamples rule(1);
  FakeTurns turns(2);
  SECTION("of short steps, those that begin within 8 ms") {
    FakeRun run = with_steps_of(0x1p-7);
    CHECK(run.measure(rule, {.warmup_steps = 5, .turns = &turns}).warmup_discarded == 5 + 2 * 2);
    CHECK(run.steps == 5 + 2 * (2 + 32));
  }
  SECTION("of long steps, one") {
    FakeRun run = with_steps_of(1);
    const Samples samples = run.measure(rule, {.warmup_steps = 5, .turns = &turns});
    CHECK(samples.warmup_discarded == 5 + 2 * 1);
    CHECK(samples.steps == 2 * 3);  // at least three, however long they take
  }
  SECTION("so that a slow first step is in no slice") {
    FakeRun run;
    run.step_seconds = [](Size step) { return step == 6 || step == 10 ? 1.0 : 0.5; };
    const Samples samples = run.measure(rule, {.warmup_steps = 5, .turns = &turns});
    CHECK(std::ranges::count(samples.step_seconds, 0.5) == 6);
  }
}

TEST_CASE("time asleep between turns is in no sample and no gap", "[measure]") {
  FakeRun run = with_steps_of(0x1p-7);
  FixedSamples rule(1);
  FakeTurns turns(3);
  turns.clock = &run.clock;
  turns.asleep = 100;
  const Samples samples = run.measure(rule, {.warmup_steps = 5, .turns = &turns});
  CHECK(samples.standstill.count == 0);
  CHECK(std::ranges::all_of(samples.step_seconds, [](double step) { return step == 0x1p-7; }));
}

TEST_CASE("an interruption ends a turn, and what was measured stays", "[measure]") {
  FakeRun run = with_steps_of(0x1p-7);
  run.interrupt_after = 5 + 2 + 32 + 2 + 10;
  FixedSamples rule(1);
  FakeTurns turns(4);
  const Samples samples = run.measure(rule, {.warmup_steps = 5, .turns = &turns});
  CHECK(samples.interrupted);
  REQUIRE(samples.slices.size() == 2);
  CHECK(samples.slices[1].count == 10);
}

}  // namespace ptbench

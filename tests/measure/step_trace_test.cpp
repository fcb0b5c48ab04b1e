#include "src/measure/step_trace.h"

#include <catch2/catch.hpp>

#include "src/measure/step_phases.h"
#include "tests/measure/allocation_count.h"
#include "tests/measure/fake_clock.h"

namespace ptbench::testing {
namespace {

/// A step of 6 s: backward with an optimizer in it, and one collective from there to the end.
void make_step(FakeClock& clock, PhaseTimer& timer, Size number) {
  const StepScope step(&timer, number);
  {
    const PhaseScope backward(&timer, StepPhase::backward, 3);
    clock.pass(1);
    timer.start_collective({.kind = CollectiveKind::reduce_scatter, .bytes = 64});
    clock.pass(1);
    {
      const PhaseScope optimizer(&timer, StepPhase::optimizer, 64);
      clock.pass(1);
    }
    const WaitScope waiting(&timer);
    clock.pass(1);
  }
  clock.pass(2);
  timer.finish_collectives(1);
}

TEST_CASE("a trace has each step, phase and collective with its beginning and end", "[measure]") {
  FakeClock clock;
  TraceRecorder recorder(1, 2);
  PhaseTimer timer(clock, nullptr, &recorder);
  const double begin = clock.now();
  make_step(clock, timer, 11);
  const TraceTrack& track = recorder.tracks().front();
  REQUIRE(track.steps().size() == 1);
  CHECK(track.steps()[0].number == 11);
  CHECK(track.steps()[0].begin == begin);
  CHECK(track.steps()[0].end == begin + 6);
  REQUIRE(track.spans().size() == 3);
  CHECK(track.spans()[0].phase == StepPhase::backward);
  CHECK(track.spans()[0].payload == 3);
  CHECK(track.spans()[0].end == begin + 4);
  CHECK(track.spans()[1].phase == StepPhase::optimizer);
  CHECK(track.spans()[1].begin == begin + 2);
  CHECK(track.spans()[1].end == begin + 3);
  CHECK(track.spans()[2].phase == StepPhase::wait);
  CHECK(track.spans()[2].end == begin + 4);
  REQUIRE(track.collectives().size() == 1);
  CHECK(track.collectives()[0].what.bytes == 64);
  CHECK(track.collectives()[0].begin == begin + 1);
  CHECK(track.collectives()[0].end == begin + 6);
}

TEST_CASE("what is traced counts in the phases as what is not", "[measure]") {
  FakeClock clock;
  TraceRecorder recorder(1, 2);
  PhaseTimer traced(clock, nullptr, &recorder);
  make_step(clock, traced, 1);
  const PhasesRecord phases = traced.means();
  CHECK(phases.backward == Approx(3));  // with the wait in it
  CHECK(phases.optimizer == Approx(1));
  CHECK(phases.other == Approx(2));
  CHECK_FALSE(phases.communication.has_value());
}

TEST_CASE("recording allocates nothing", "[measure]") {
  FakeClock clock;
  TraceRecorder recorder(1, 3);
  PhaseTimer timer(clock, nullptr, &recorder);
  make_step(clock, timer, 1);  // looks for a tool
  const std::size_t before = allocation_count();
  make_step(clock, timer, 2);
  CHECK(allocation_count() == before);
}

TEST_CASE("a trace ends with the last step for which there was room", "[measure]") {
  FakeClock clock;
  constexpr std::size_t kRoom = 8;  // two steps of three phases, and two thirds of one
  TraceRecorder recorder(1, 100, kRoom);
  PhaseTimer timer(clock, nullptr, &recorder);
  CHECK_FALSE(recorder.is_cut());
  const std::size_t before = allocation_count();
  for (Size step = 1; step <= 50; ++step) make_step(clock, timer, step);
  CHECK(allocation_count() == before);
  CHECK(recorder.is_cut());
  CHECK(recorder.tracks().front().spans().size() == kRoom);
  const std::vector<TracedStep> whole = recorder.whole_steps();
  REQUIRE(whole.size() == 2);
  CHECK(whole.back().number == 2);
}

TEST_CASE("more steps than were expected, and more collectives, cut a trace too", "[measure]") {
  FakeClock clock;
  TraceRecorder steps(1, 2);
  PhaseTimer timer(clock, nullptr, &steps);
  for (Size step = 1; step <= 3; ++step) make_step(clock, timer, step);
  CHECK(steps.is_cut());
  CHECK(steps.whole_steps().size() == 2);

  TraceTrack track({.steps = 1, .spans = 1, .collectives = 2});
  for (int i = 0; i < 4; ++i) track.start_collective({}, 10 + i);
  track.finish_collectives(4, 20);
  CHECK(track.full_since() == 12);
  CHECK(track.collectives().size() == 2);
  CHECK(track.collectives().back().end == 20);
}

TEST_CASE("a step that lacks a part on another thread is not whole", "[measure]") {
  FakeClock clock;
  TraceRecorder recorder(2, 10, 4);
  PhaseTimer main(clock, nullptr, &recorder);
  PhaseTimer driver(clock, nullptr, &recorder, 1);
  for (Size step = 1; step <= 3; ++step) {
    const StepScope scope(&main, step);
    for (int phase = 0; phase < 2; ++phase) {
      const PhaseScope forward(&driver, StepPhase::forward);
      clock.pass(1);
    }
  }
  CHECK(recorder.is_cut());
  CHECK(recorder.whole_steps().size() == 2);
}

TEST_CASE("collectives are finished in the order in which they were started", "[measure]") {
  TraceTrack track({.steps = 1, .spans = 1, .collectives = 9});
  for (int i = 0; i < 3; ++i) track.start_collective({}, i);
  track.finish_collectives(1, 10);
  track.finish_collectives(1, 11);
  CHECK(track.collectives()[0].end == 10);
  CHECK(track.collectives()[1].end == 11);
  CHECK(track.collectives()[2].end == TraceTrack::kOpen);
}

TEST_CASE("a step that an exception ended is not whole", "[measure]") {
  TraceTrack track({.steps = 3, .spans = 9, .collectives = 1});
  track.begin_step(1, 1);
  track.enter(StepPhase::forward, 0, 2);
  track.begin_step(2, 3);
  track.enter(StepPhase::data, 0, 4);
  track.leave(5);
  track.leave(6);  // of nothing
  track.end_step(7);
  CHECK(track.steps()[0].end == TraceTrack::kOpen);
  CHECK(track.spans()[0].end == TraceTrack::kOpen);
  CHECK(track.spans()[1].end == 5);
  CHECK(track.steps()[1].end == 7);
}

}  // namespace
}  // namespace ptbench::testing

#include "src/measure/step_phases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <span>

#include "src/base/error.h"
#include "tests/measure/allocation_count.h"
#include "tests/measure/fake_clock.h"

namespace ptbench::testing {
namespace {

double sum_of(const PhasesRecord& phases) {
  double sum = 0;
  for (const auto& phase : {phases.data, phases.scatter, phases.replicate, phases.forward,
                            phases.gather, phases.backward, phases.reduce,
                            phases.communication_exposed, phases.optimizer, phases.other})
    sum += phase.value_or(0);
  return sum;
}

TEST_CASE("a nested phase takes its time away from the one around it", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  {
    const StepScope step(&timer, 1);
    const PhaseScope backward(&timer, StepPhase::backward);
    clock.pass(3);
    {
      const PhaseScope optimizer(&timer, StepPhase::optimizer);
      clock.pass(2);
    }
    clock.pass(4);
  }
  const PhasesRecord phases = timer.means();
  CHECK(phases.backward == Approx(7));
  CHECK(phases.optimizer == Approx(2));
  CHECK(phases.other == Approx(0).margin(1e-12));
  CHECK(timer.step_seconds() == Approx(9));
}

/// A queue whose work takes as long as a test says, while no time passes on the host.
class LaterQueue final : public Queue {
 public:
  class Moment final : public Event {
   public:
    void finish() const override {}
    [[nodiscard]] double seconds_since(const Event& earlier) const override {
      return seconds - dynamic_cast<const Moment&>(earlier).seconds;
    }
    double seconds = 0;
  };

  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock clock) override {
    REQUIRE(clock == EventClock::on);
    ++events;
    return std::make_unique<Moment>();
  }
  void copy(std::span<const std::byte> /*from*/, std::span<std::byte> /*to*/) override {}
  void record(Event& event) override {
    if (fails) throw Defect("the queue has failed");
    dynamic_cast<Moment&>(event).seconds = now;
  }
  void wait(const Event& /*event*/) override {}
  void finish() override {}
  void work(double seconds) { now += seconds; }

  double now = 1000;
  int events = 0;
  bool fails = false;
};

TEST_CASE("phases of work that is done later lie between events", "[measure]") {
  FakeClock clock;
  LaterQueue queue;
  PhaseTimer timer(clock, &queue);
  for (int step = 1; step <= 2; ++step) {
    const double begin = clock.now();
    {
      const StepScope scope(&timer, step);
      queue.work(1);
      {
        const PhaseScope backward(&timer, StepPhase::backward);
        queue.work(3);
        {
          const PhaseScope optimizer(&timer, StepPhase::optimizer);
          queue.work(2);
        }
        queue.work(4);
      }
      timer.arrive();
      const PhaseScope communication(&timer, StepPhase::communication);
      queue.work(5);
    }
    clock.pass(7);  // does not count
    CHECK(timer.steps() == step - 1);
    timer.resolve();
    CHECK(timer.steps() == step);
    CHECK(timer.since_arrival(StepPhase::communication) == Approx(5));
    CHECK(timer.arrival() == Approx(begin + 10));
  }
  const PhasesRecord phases = timer.means();
  CHECK(phases.backward == Approx(7));
  CHECK(phases.optimizer == Approx(2));
  CHECK(phases.communication == Approx(5));
  CHECK(phases.other == Approx(1));
  CHECK(timer.step_seconds() == Approx(15));
  CHECK(queue.events == 9);  // kept from step to step
}

/// As if another queue had done it then, by the clock of `queue`.
void do_collective(PhaseTimer& timer, double begin, double end) {
  const WorkEvents events = timer.collectives()->next();
  dynamic_cast<LaterQueue::Moment&>(*events.begin).seconds = begin;
  dynamic_cast<LaterQueue::Moment&>(*events.end).seconds = end;
}

/// A step of 20 s in which another queue communicates for 12: from 5 to 8 and from 7 to 10 while
/// this one computes, from 13 to 19 but for 3 while this one waits.
void overlap(LaterQueue& queue, PhaseTimer& timer, Size number) {
  const double at = queue.now;
  const StepScope step(&timer, number);
  {
    const PhaseScope backward(&timer, StepPhase::backward);
    queue.work(6);
    {
      const PhaseScope start(&timer, StepPhase::communication);
      do_collective(timer, at + 5, at + 8);
      do_collective(timer, at + 7, at + 10);
    }
    queue.work(10);
    do_collective(timer, at + 13, at + 19);
  }
  {
    const PhaseScope wait(&timer, StepPhase::communication);
    queue.work(3);
  }
  const PhaseScope optimizer(&timer, StepPhase::optimizer);
  queue.work(1);
}

TEST_CASE("communication has a part that another queue hides", "[measure]") {
  FakeClock clock;
  LaterQueue queue;
  PhaseTimer timer(clock, &queue);
  for (int number = 1; number <= 2; ++number) {
    overlap(queue, timer, number);
    timer.resolve();
  }
  const PhasesRecord phases = timer.means();
  CHECK(phases.communication == Approx(5 + 6));
  CHECK(phases.communication_exposed == Approx(3));
  CHECK(phases.backward == Approx(16));
  CHECK(sum_of(phases) == Approx(timer.step_seconds()));
  CHECK(timer.step_seconds() == Approx(20));
}

TEST_CASE("what is watched is of one step, also where an exception ends it", "[measure]") {
  FakeClock clock;
  LaterQueue queue;
  PhaseTimer timer(clock, &queue);
  for (const bool fails : {true, false}) {
    const StepScope step(&timer, 1);
    const PhaseScope communication(&timer, StepPhase::communication);
    do_collective(timer, queue.now - 100, queue.now + 4);
    if (!fails) do_collective(timer, queue.now, queue.now + 4);
    queue.work(1);
    if (fails) continue;  // without resolve()
  }
  const int events = queue.events;
  {
    const StepScope step(&timer, 2);
    const PhaseScope communication(&timer, StepPhase::communication);
    do_collective(timer, queue.now, queue.now + 4);
    queue.work(1);
  }
  timer.resolve();
  CHECK(timer.steps() == 1);
  CHECK(timer.means().communication == Approx(4));
  CHECK(timer.means().communication_exposed == Approx(1));
  CHECK(queue.events == events);  // kept from step to step
}

TEST_CASE("nothing is watched where a queue works at once", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  CHECK(timer.collectives() == nullptr);
}

TEST_CASE("a trace has collectives as the device did them", "[measure]") {
  FakeClock clock;
  LaterQueue queue;
  TraceRecorder recorder(1, 1);
  PhaseTimer timer(clock, &queue, &recorder);
  const double begin = clock.now();
  const double at = queue.now;
  {
    const StepScope step(&timer, 1);
    for (const double until : {5, 9}) {
      queue.work(2);
      timer.start_collective({.kind = CollectiveKind::reduce_scatter});
      do_collective(timer, at + until - 2, at + until);
    }
    timer.start_collective({.kind = CollectiveKind::barrier});  // of which nobody tells
    queue.work(6);
    timer.finish_collectives(3);
  }
  clock.pass(20);
  timer.resolve();
  const auto collectives = recorder.track(0).collectives();
  REQUIRE(collectives.size() == 3);
  REQUIRE(collectives[0].ran);
  CHECK(collectives[0].begin == Approx(begin + 2));
  CHECK(collectives[0].ran->begin == Approx(begin + 3));
  CHECK(collectives[0].ran->end == Approx(begin + 5));
  REQUIRE(collectives[1].ran);
  CHECK(collectives[1].ran->begin == Approx(begin + 7));
  CHECK(collectives[1].ran->end == Approx(begin + 9));
  CHECK(collectives[1].end == Approx(begin + 10));
  CHECK_FALSE(collectives[2].ran);
}

/// A queue by the clock of the host: that it learns of an event takes 4 seconds, and of one that
/// is recorded the queue learns after 2.
class RemoteQueue final : public Queue {
 public:
  explicit RemoteQueue(FakeClock& clock) : clock_(clock) {}

  class Moment final : public Event {
   public:
    explicit Moment(FakeClock& clock) : clock_(clock) {}
    void finish() const override { clock_.pass(seconds + 4 - clock_.now()); }
    [[nodiscard]] double seconds_since(const Event& earlier) const override {
      return seconds - dynamic_cast<const Moment&>(earlier).seconds;
    }
    double seconds = 0;

   private:
    FakeClock& clock_;
  };

  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock /*clock*/) override {
    clock_.pass(8);
    return std::make_unique<Moment>(clock_);
  }
  void copy(std::span<const std::byte> /*from*/, std::span<std::byte> /*to*/) override {}
  void record(Event& event) override {
    done_ = std::max(done_, clock_.now() + 2);
    dynamic_cast<Moment&>(event).seconds = done_;
  }
  void wait(const Event& /*event*/) override {}
  void finish() override { clock_.pass(std::max(0.0, done_ + 4 - clock_.now())); }
  void work(double seconds) { done_ = std::max(done_, clock_.now() + 2) + seconds; }

 private:
  FakeClock& clock_;
  double done_ = 0;
};

TEST_CASE("the calls of a traced step lie in it, the first step's too", "[measure]") {
  FakeClock clock;
  RemoteQueue queue(clock);
  TraceRecorder recorder(1, 2);
  PhaseTimer timer(clock, &queue, &recorder);
  for (int step = 1; step <= 2; ++step) {
    double first = 0;
    double last = 0;
    {
      const StepScope scope(&timer, step);
      first = clock.now();
      const PhaseScope forward(&timer, StepPhase::forward);
      queue.work(0.5);
      last = clock.now();
    }
    timer.resolve();
    const auto& steps = recorder.track(0).steps();
    REQUIRE(steps.size() == static_cast<std::size_t>(step));
    CHECK(steps.back().begin <= first);
    CHECK(steps.back().end > last);
    CHECK(steps.back().end <= clock.now());
    const TracedSpan& forward = recorder.track(0).spans().back();
    CHECK(forward.begin >= steps.back().begin);
    CHECK(forward.end <= steps.back().end);
    CHECK(forward.end - forward.begin >= 0.5);
  }
  CHECK(recorder.track(0).steps()[1].begin >= recorder.track(0).steps()[0].end);
}

TEST_CASE("a queue that fails within a step ends no process and leaves no phases", "[measure]") {
  FakeClock clock;
  LaterQueue queue;
  PhaseTimer timer(clock, &queue);
  {
    const StepScope scope(&timer, 1);
    const PhaseScope forward(&timer, StepPhase::forward);
    queue.fails = true;
  }
  CHECK_THROWS_AS(timer.resolve(), Defect);
  queue.fails = false;
  {
    const StepScope scope(&timer, 2);
    const PhaseScope forward(&timer, StepPhase::forward);
    queue.work(3);
  }
  timer.resolve();
  CHECK(timer.steps() == 1);
  CHECK(timer.means().forward == Approx(3));
}

TEST_CASE("what no phase covers is other, and all add up to the step", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  {
    const StepScope step(&timer, 1);
    clock.pass(0.1);
    for (const StepPhase phase :
         {StepPhase::data, StepPhase::scatter, StepPhase::replicate, StepPhase::forward,
          StepPhase::gather, StepPhase::backward, StepPhase::reduce, StepPhase::communication,
          StepPhase::optimizer}) {
      const PhaseScope scope(&timer, phase);
      clock.pass(0.3);
    }
    clock.pass(0.2);
  }
  const PhasesRecord phases = timer.means();
  CHECK(phases.other == Approx(0.3));
  CHECK(phases.communication == Approx(0.3));
  CHECK(phases.communication_exposed == phases.communication);
  CHECK(sum_of(phases) == Approx(timer.step_seconds()));
  CHECK(timer.step_seconds() == Approx(3));
}

TEST_CASE("phases are means over the steps, also over those without them", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  for (int step = 1; step <= 4; ++step) {
    const StepScope scope(&timer, step);
    clock.pass(1);
    if (step % 2 == 0) continue;
    const PhaseScope data(&timer, StepPhase::data);
    clock.pass(step);
  }
  CHECK(timer.steps() == 4);
  CHECK(timer.means().data == Approx(1));
  CHECK(timer.means().other == Approx(1));
  CHECK(timer.step_seconds() == Approx(2));
}

TEST_CASE("time between steps belongs to none", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  for (int step = 1; step <= 2; ++step) {
    const StepScope scope(&timer, step);
    clock.pass(1);
  }
  clock.pass(100);
  CHECK(timer.step_seconds() == Approx(1));
}

TEST_CASE("phases that were never entered are empty, entered ones are not", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  CHECK_FALSE(timer.means().other.has_value());
  CHECK(timer.step_seconds() == 0);
  {
    const StepScope step(&timer, 1);
    const PhaseScope forward(&timer, StepPhase::forward);
  }
  const PhasesRecord phases = timer.means();
  CHECK(phases.forward == 0.0);
  CHECK(phases.other == 0.0);
  CHECK_FALSE(phases.data.has_value());
  CHECK_FALSE(phases.communication.has_value());
  CHECK_FALSE(phases.communication_exposed.has_value());
}

TEST_CASE("phases that do not match are a defect", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  timer.enter(StepPhase::data);
  CHECK_THROWS_AS(timer.begin_step(), Defect);
  timer.leave();
  CHECK_NOTHROW(timer.begin_step());
  CHECK_THROWS_AS(
      [&] {
        for (int depth = 0; depth < 9; ++depth) timer.enter(StepPhase::data);
      }(),
      Defect);
}

TEST_CASE("observing a step allocates nothing", "[measure]") {
  FakeClock clock;
  PhaseTimer timer(clock);
  const auto step = [&](Size number) {
    const StepScope scope(&timer, number);
    const PhaseScope backward(&timer, StepPhase::backward);
    const PhaseScope optimizer(&timer, StepPhase::optimizer);
  };
  step(1);  // looks for a tool
  const std::size_t before = allocation_count();
  step(2);
  CHECK(allocation_count() == before);
}

TEST_CASE("every phase has a name", "[measure]") {
  CHECK(name_of(StepPhase::data) == "data");
  CHECK(name_of(StepPhase::communication) == "communication");
  CHECK(name_of(StepPhase::optimizer) == "optimizer");
}

}  // namespace
}  // namespace ptbench::testing

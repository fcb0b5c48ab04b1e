#include "strategies/phase_pass.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "kernels/reference/reference_backend.h"
#include "tests/strategies/training.h"

namespace ptbench::testing {
namespace {

bool always() { return true; }

/// Every look at it takes the same time.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(double tick) : tick_(tick) {}
  [[nodiscard]] double now() const override { return tick_ * static_cast<double>(++looks_); }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  double tick_;
  mutable int looks_ = 0;
};

/// A training of the linear model on plain loops.
struct Copy {
  explicit Copy(Size accumulation_steps = 1, const LossScaleSpec& loss_scale = {})
      : workload(find_workload("linear")),
        training(backend, workload,
                 {.micro_batch = 4,
                  .step = {.optimizer = workload.optimizer,
                           .accumulation_steps = accumulation_steps,
                           .loss_scale = loss_scale},
                  .strategy = accumulation_steps > 1 ? "grad-accum" : "serial"}) {}

  [[nodiscard]] Strategy& strategy() { return training.strategy(); }

  ReferenceBackend backend;
  Workload workload;
  Training training;
};

double sum_of(const PhasesRecord& phases) {
  return *phases.data + *phases.forward + *phases.backward + *phases.optimizer + *phases.other;
}

TEST_CASE("the phases of a serial step are its own and add up", "[strategies]") {
  constexpr double kTick = 1e-3;
  Copy copy;
  const PhasesRecord phases = measure_phases(copy.strategy(), SteppingClock(kTick), always).phases;
  // A phase looks at the clock when it begins and when it ends.
  CHECK(phases.data == Approx(kTick));
  CHECK(phases.forward == Approx(kTick));
  CHECK(phases.backward == Approx(2 * kTick));  // before and after the optimizer
  CHECK(phases.optimizer == Approx(kTick));
  CHECK(phases.other == Approx(4 * kTick));
  CHECK_FALSE(phases.communication.has_value());
  CHECK_FALSE(phases.reduce.has_value());
}

TEST_CASE("the phases of all micro-batches count", "[strategies]") {
  constexpr double kTick = 1e-3;
  Copy copy(4);
  const PhasesRecord phases = measure_phases(copy.strategy(), SteppingClock(kTick), always).phases;
  CHECK(phases.data == Approx(4 * kTick));
  CHECK(phases.forward == Approx(4 * kTick));
  CHECK(phases.backward == Approx(5 * kTick));
  CHECK(phases.optimizer == Approx(kTick));
}

TEST_CASE("looking for overflow belongs to the optimizer", "[strategies]") {
  constexpr double kTick = 1e-3;
  Copy copy(1, {.kind = LossScaling::fixed, .value = 128});
  const PhasesRecord phases = measure_phases(copy.strategy(), SteppingClock(kTick), always).phases;
  CHECK(phases.backward == Approx(kTick));
  CHECK(phases.optimizer == Approx(2 * kTick));
}

TEST_CASE("phases add up to the step that was observed", "[strategies]") {
  for (const Size accumulation_steps : {1, 4}) {
    CAPTURE(accumulation_steps);
    Copy copy(accumulation_steps);
    const SteadyClock clock;
    PhaseTimer timer(clock);
    copy.strategy().observe(&timer);
    (void)copy.training.losses(5);
    copy.strategy().observe(nullptr);
    (void)copy.training.losses(1);
    CHECK(timer.steps() == 5);
    CHECK(sum_of(timer.means()) == Approx(timer.step_seconds()));
  }
}

TEST_CASE("fast steps are many, slow ones few, very slow ones fewer", "[strategies]") {
  struct Expectation {
    double tick;
    Size steps;
  };
  // Ten looks at the clock in a step, one for the decision after it.
  for (const auto& [tick, steps] : std::vector<Expectation>{
           {1e-3, 10 + 28}, {2e-3, 10 + 20}, {2e-2, 10 + 3}, {0.15, 2 + 2}, {10, 2 + 1}}) {
    CAPTURE(tick);
    Copy copy;
    (void)measure_phases(copy.strategy(), SteppingClock(tick), always);
    CHECK(copy.strategy().steps() == steps);
  }
}

TEST_CASE("a copy is observed without a trace on the one that is timed", "[strategies]") {
  Copy timed;
  Copy copy;
  Copy undisturbed;
  (void)measure_phases(copy.strategy(), SteppingClock(1e-2), always);
  CHECK(timed.strategy().steps() == 0);
  CHECK(timed.training.losses(5) == undisturbed.training.losses(5));
}

TEST_CASE("observing changes no result", "[strategies]") {
  Copy observed(4);
  Copy alone(4);
  const SteadyClock clock;
  PhaseTimer timer(clock);
  observed.strategy().observe(&timer);
  CHECK(observed.training.losses(5) == alone.training.losses(5));
}

TEST_CASE("a pass that is told to end early keeps what it has", "[strategies]") {
  Copy unmeasured;
  const PhasesRecord none =
      measure_phases(unmeasured.strategy(), SteppingClock(1e-3), [] { return false; }).phases;
  CHECK_FALSE(none.other.has_value());
  CHECK(unmeasured.strategy().steps() == 0);

  Copy brief;
  int asked = 0;
  const PhasesRecord some =
      measure_phases(brief.strategy(), SteppingClock(1e-3), [&] { return ++asked <= 12; }).phases;
  CHECK(brief.strategy().steps() == 12);
  CHECK(some.data == Approx(1e-3));
}

TEST_CASE("nobody observes after a pass, also after one that threw", "[strategies]") {
  for (const bool throws : {false, true}) {
    CAPTURE(throws);
    Copy copy;
    const SteppingClock clock(1e-3);
    int asked = 0;
    const auto pass = [&] {
      (void)measure_phases(copy.strategy(), clock, [&] {
        if (throws && ++asked > 12) throw std::runtime_error("enough");
        return true;
      });
    };
    if (throws)
      CHECK_THROWS_AS(pass(), std::runtime_error);
    else
      pass();
    const int looks = clock.looks();
    (void)copy.training.losses(1);
    CHECK(clock.looks() == looks);
  }
}

}  // namespace
}  // namespace ptbench::testing

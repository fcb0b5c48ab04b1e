// Drags: how long they last, and who spins.
#include "strategies/drag.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/device/cpu_device.h"
#include "src/device/topology.h"
#include "strategies/replica_devices.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/training.h"
#include "tests/support/some_cpus.h"

namespace ptbench::testing {
namespace {

/// Reading it takes time, as reading any clock does.
class SlowClock final : public Clock {
 public:
  explicit SlowClock(double tick) : tick_(tick) {}
  [[nodiscard]] double now() const override { return now_ += tick_; }
  void pass(double seconds) { now_ += seconds; }

 private:
  double tick_;
  mutable double now_ = 1000;
};

/// The same for several threads. Notes which of them read it.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(double tick) : tick_(tick) {}
  [[nodiscard]] double now() const override {
    const std::scoped_lock lock(mutex_);
    readers_.insert(std::this_thread::get_id());
    return now_ += tick_;
  }
  void pass(double seconds) { now_ += seconds; }
  [[nodiscard]] std::set<std::thread::id> readers() const { return readers_; }

 private:
  double tick_;
  mutable std::mutex mutex_;
  mutable double now_ = 1000;
  mutable std::set<std::thread::id> readers_;
};

/// A step, and the drag after it, so many times; starting the threads that spin takes `start`
/// seconds each time. Returns the share by which all became longer.
double slowdown_of(double share, double step, double start, int steps = 500) {
  SlowClock clock(step < 1e-3 ? 30e-9 : 1e-6);
  Drag drag(share, clock, [&](FunctionRef<void()> job) {
    clock.pass(start);
    job();
  });
  const double begin = clock.now();
  for (int i = 0; i < steps; ++i) {
    drag.begin();
    clock.pass(step);
    drag.end();
  }
  const double all = clock.now() - begin;
  CHECK(drag.realized().value() == Approx(share).margin(0.0005));
  return all / (steps * step) - 1;
}

}  // namespace

TEST_CASE("a drag makes steps longer by its share", "[strategies]") {
  const double share = GENERATE(0.01, 0.03, 0.05, 1.0);
  const double step = GENERATE(10e-6, 100e-6, 7e-3);
  const double start = GENERATE(0.0, 2e-6);
  CAPTURE(share, step, start);
  // Where a drag's start takes longer than the share, only every so many steps have one; what is
  // beside the share is reading the clock twice a step.
  CHECK(slowdown_of(share, step, start) == Approx(share).margin(0.001 + 100e-9 / step));
}

TEST_CASE("a drag during which the process was stopped is not made up for", "[strategies]") {
  SlowClock clock(1e-7);
  bool stops = true;
  Drag drag(0.1, clock, [&](FunctionRef<void()> job) {
    job();
    if (std::exchange(stops, false)) clock.pass(10);
  });
  drag.begin();
  clock.pass(0.01);
  drag.end();
  const double begin = clock.now();
  drag.begin();
  clock.pass(0.01);
  drag.end();
  CHECK(clock.now() - begin == Approx(0.011).margin(25e-6));
}

TEST_CASE("what a drag realized is told of the steps since it was counted anew", "[strategies]") {
  SlowClock clock(1e-4);
  Drag drag(0.5, clock);
  CHECK_FALSE(drag.realized().has_value());
  drag.begin();
  clock.pass(1);
  drag.end();
  CHECK(drag.realized().value() == Approx(0.5).margin(1e-3));
  drag.count_anew();
  CHECK_FALSE(drag.realized().has_value());
  CHECK_FALSE(Drag().realized().has_value());
  CHECK_THROWS_AS(Drag(-0.1, clock), Defect);
}

TEST_CASE("all members of a team spin, so that none falls asleep", "[strategies]") {
  const int size = GENERATE(1, 2, 3);
  CAPTURE(size);
  CpuDevice device(discover_topology(), some_cpus(size));
  TickingClock clock(1e-6);
  Drag drag(0.5, clock, threads_of(device));
  drag.begin();
  clock.pass(1e-3);
  drag.end();
  CHECK(clock.readers().size() == static_cast<std::size_t>(size));
}

TEST_CASE("all members of all replicas' teams spin", "[strategies]") {
  const Topology topology = discover_topology();
  const int threads = GENERATE(1, 2);
  CpuDevice first(topology, some_cpus(threads));
  ReplicaDevices others({.topology = topology, .threads = threads}, 3);
  std::mutex mutex;
  std::set<std::thread::id> ran;
  for (int turn = 0; turn < 20; ++turn)
    others.run_on_all(first, [&] {
      const std::scoped_lock lock(mutex);
      ran.insert(std::this_thread::get_id());
    });
  CHECK(ran.size() == static_cast<std::size_t>(3 * threads));
}

TEST_CASE("a strategy's steps are dragged, each as a whole", "[strategies]") {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(), {.micro_batch = 4, .step = {.optimizer = sgd()}});
  const TickingClock clock(1e-3);
  int drags = 0;
  Strategy& strategy = training.strategy();
  const Drag counted(2, clock, [&](FunctionRef<void()> job) {
    ++drags;
    job();
  });
  const StepDrag drag(counted, strategy);
  double begun = 0;
  strategy.before_each_step([&] { begun = clock.now(); });
  (void)training.losses(3);
  CHECK(drags == 3);
  // The step begins before what is called before it: two ticks of work, four of drag, one that
  // found these over.
  CHECK(clock.now() - begun == Approx(1e-3 * (1 + 4 + 1 + 1)));
  CHECK(drag.realized().value() == Approx(2).margin(0.6));
}

TEST_CASE("steps may be dragged in turn with others that are not", "[strategies]") {
  const ReferenceBackend backend;
  Training training(backend, mlp_graph(), {.micro_batch = 4, .step = {.optimizer = sgd()}});
  const TickingClock clock(1e-3);
  std::vector<Size> dragged;
  Strategy& strategy = training.strategy();
  const Drag noted(1, clock, [&](FunctionRef<void()> job) {
    dragged.push_back(strategy.steps());
    job();
  });
  const StepDrag drag(noted, strategy, 2);
  (void)training.losses(9);
  CHECK(dragged == std::vector<Size>{3, 4, 7, 8});
}

}  // namespace ptbench::testing

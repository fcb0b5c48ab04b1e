#include "src/process/pulse.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "src/base/process_state.h"
#include "src/base/size.h"
#include "src/process/child_process.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;

constexpr ProcessState kAsleep{.letter = 'S', .cpu_ticks = 100};

/// Of a process in this state, which has worked three times, after that many looks.
Pulse felt(const ProcessState& state, Size looks, Pulse::Duration interval = 250ms) {
  Pulse pulse;
  pulse.feel(kAsleep, 3, interval);
  for (Size look = 0; look < looks; ++look) pulse.feel(state, 3, interval);
  return pulse;
}

ChildProcess sleeper() { return ChildProcess({.program = "/bin/sleep", .arguments = {"1000"}}); }

/// Waits until the process is in that state.
void wait_for(int process, char letter) {
  while (process_state(process).letter != letter) std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST_CASE("a process that sleeps without working is silent from look to look", "[comm]") {
  CHECK(felt(kAsleep, 0).silent() == 0ms);
  CHECK(felt(kAsleep, 4).silent() == 1s);
  CHECK(felt(kAsleep, 4).stopped() == 0ms);
}

TEST_CASE("work with others is a sign of life", "[comm]") {
  Pulse pulse = felt(kAsleep, 4);
  pulse.feel(kAsleep, 4, 250ms);
  CHECK(pulse.silent() == 0ms);
}

TEST_CASE("computing is a sign of life, the little that waiting takes is none", "[comm]") {
  Pulse pulse = felt(kAsleep, 4);
  ProcessState state = kAsleep;
  state.cpu_ticks += 1;
  pulse.feel(state, 3, 250ms);
  CHECK(pulse.silent() == 1250ms);
  state.cpu_ticks += 1;
  pulse.feel(state, 3, 250ms);
  CHECK(pulse.silent() == 0ms);
}

TEST_CASE("ticks that shrink are no sign of life", "[comm]") {
  CHECK(felt({.letter = 'S', .cpu_ticks = 99}, 2).silent() == 500ms);
}

TEST_CASE("who waits for a disk, or cannot be seen, is not silent", "[comm]") {
  CHECK(felt({.letter = 'D', .cpu_ticks = 100}, 4).silent() == 0ms);
  CHECK(felt({}, 4).silent() == 0ms);
}

TEST_CASE("a process is stopped until it goes on", "[comm]") {
  Pulse pulse = felt({.letter = 'T', .cpu_ticks = 100}, 3);
  CHECK(pulse.stopped() == 750ms);
  CHECK(pulse.silent() == 750ms);
  pulse.feel(kAsleep, 3, 250ms);
  CHECK(pulse.stopped() == 0ms);
}

TEST_CASE("an interval in which the watcher slept itself counts little", "[comm]") {
  CHECK(felt({.letter = 'T', .cpu_ticks = 100}, 1, 1h).stopped() == Pulse::kLongestLook);
  CHECK(felt(kAsleep, 1, 1h).silent() == Pulse::kLongestLook);
}

TEST_CASE("the state of a process is what the kernel says", "[comm]") {
  REQUIRE(can_see_processes());
  (void)std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
  ChildProcess child = sleeper();
  wait_for(child.id(), 'S');
  child.send(SIGSTOP);
  wait_for(child.id(), 'T');
  CHECK_FALSE(has_interruption_pending(child.id()));
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  child.send(signal);
  CHECK(has_interruption_pending(child.id()));
  child.send(SIGKILL);
  (void)child.wait(1min);
  CHECK(process_state(child.id()).letter == '?');
}

TEST_CASE("what this thread computes is not counted as the process's work", "[comm]") {
  const auto ticks_here = [] { return process_state(getpid()).cpu_ticks; };
  const std::uint64_t before = ticks_here();
  const std::uint64_t beside = state_beside_this_thread().cpu_ticks;
  while (ticks_here() < before + 20) continue;
  CHECK(state_beside_this_thread().cpu_ticks < beside + 10);
}

}  // namespace ptbench

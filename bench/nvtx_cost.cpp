// What a PhaseScope costs: nanoseconds more than an empty loop, without and with a timer. Run it
// without a tool; with one (NVTX_INJECTION64_PATH), it tells what the tool costs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>

#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/measure/step_phases.h"

namespace ptbench {
namespace {

constexpr int kRounds = 7;
constexpr int kCalls = 1'000'000;

/// Seconds of `loop`, the least of all rounds: what else runs only adds.
double least_seconds(FunctionRef<void()> loop) {
  const SteadyClock clock;
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const double begin = clock.now();
    loop();
    least = std::min(least, clock.now() - begin);
  }
  return least;
}

/// Keeps the loop around it.
void keep(int& count) { asm volatile("" : "+r"(count)); }

double scopes(PhaseTimer* timer) {
  return least_seconds([timer] {
    for (int call = 0; call < kCalls; ++call) {
      const PhaseScope scope(timer, StepPhase::forward, 1);
      keep(call);
    }
  });
}

void print(const char* what, double seconds, double empty) {
  constexpr double kNanoseconds = 1e9 / kCalls;
  fmt::print("{:<22} {:6.2f} ns\n", what, (seconds - empty) * kNanoseconds);
}

void measure() {
  const double empty = least_seconds([] {
    for (int call = 0; call < kCalls; ++call) keep(call);
  });
  const SteadyClock clock;
  PhaseTimer timer(clock);
  fmt::print("NVTX: {}\n", has_nvtx() ? "built in" : "not built in");
  print("empty loop", empty, 0);
  print("PhaseScope", scopes(nullptr), empty);
  print("PhaseScope with timer", scopes(&timer), empty);
}

}  // namespace
}  // namespace ptbench

int main() {
  try {
    ptbench::measure();
    return 0;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}

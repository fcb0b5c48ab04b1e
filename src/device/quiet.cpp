#include "src/device/quiet.h"

#include <ctime>
#include <thread>

namespace ptbench {
namespace {

/// The kernel adds up what a running thread uses at its ticks, which are 10 ms apart at most.
constexpr std::chrono::milliseconds kWindow{10};
/// Less than any thread that works uses in the window.
constexpr double kRestSeconds = 50e-6;

double seconds_of(clockid_t clock) {
  timespec time{};
  (void)clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double others_cpu_seconds() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace

bool wait_until_quiet(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  double before = others_cpu_seconds();
  do {
    std::this_thread::sleep_for(kWindow);
    const double now = others_cpu_seconds();
    if (now - before < kRestSeconds) return true;
    before = now;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace ptbench

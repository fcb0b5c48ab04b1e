#include "src/device/clock_watch.h"

#include <utility>

#include "src/device/frequency.h"

namespace ptbench {

void ClockWatch::begin() {
  (void)end();  // what an interrupted slice left
  sum_ = 0;
  count_ = 0;
  thread_ = std::jthread([this](const std::stop_token& stop) { glance(stop); });
}

void ClockWatch::glance(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // The first glance comes after half of the time: slices are seen evenly, however short.
  auto pause = kBetweenGlances / 2;
  while (!ended_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    pause = kBetweenGlances;
    const std::optional<double> hertz = glanced_frequency();
    if (!hertz) continue;
    sum_ += *hertz;
    ++count_;
  }
}

std::optional<double> ClockWatch::end() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const double count = std::exchange(count_, 0);
  return count > 0 ? std::optional(sum_ / count) : std::nullopt;
}

}  // namespace ptbench

#include "src/device/frequency_sampler.h"

namespace ptbench {

void FrequencySampler::begin() {
  (void)end();  // what an interrupted slice left
  thread_ = std::jthread([this](const std::stop_token& stop) { glance(stop); });
}

void FrequencySampler::glance(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // The first glance comes after half of the time: slices are seen evenly, however short.
  auto pause = kBetweenGlances / 2;
  while (!ended_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    pause = kBetweenGlances;
    seen_.glance();
  }
}

std::optional<double> FrequencySampler::end() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return seen_.take_mean();
}

}  // namespace ptbench

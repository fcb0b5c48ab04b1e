#include "src/device/immediate_queue.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

/// Knows when it was recorded, where somebody asks for the time.
class ImmediateEvent final : public Event {
 public:
  explicit ImmediateEvent(EventClock clock) : is_timed_(clock == EventClock::on) {}

  void finish() const override {}
  [[nodiscard]] double seconds_since(const Event& earlier) const override {
    const auto& other = dynamic_cast<const ImmediateEvent&>(earlier);
    ensure(is_timed_ && other.is_timed_, "events whose time is asked for have a clock");
    return seconds_ - other.seconds_;
  }
  void record() {
    if (is_timed_) seconds_ = SteadyClock().now();
  }

 private:
  bool is_timed_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<Event> ImmediateQueue::make_event(EventClock clock) {
  return std::make_unique<ImmediateEvent>(clock);
}

void ImmediateQueue::record(Event& event) {
  // A queue records events of its own device only.
  static_cast<ImmediateEvent&>(event).record();
}

void ImmediateQueue::copy(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kWorthWaking = std::size_t{1} << 16U;
  ensure(from.size() == to.size(), "a copy is as large as its source");
  if (from.size() < 2 * kWorthWaking || device_.host_threads() == 1) {
    std::ranges::copy(from, to.begin());
    return;
  }
  const int threads = static_cast<int>(
      std::min(from.size() / kWorthWaking, static_cast<std::size_t>(device_.host_threads())));
  device_.run_on_host(threads, [&](int thread) {
    const auto lines = static_cast<Size>((from.size() + kLine - 1) / kLine);
    const Range part = part_of(lines, thread, threads);
    const std::size_t begin = std::min(static_cast<std::size_t>(part.begin) * kLine, from.size());
    const std::size_t end = std::min(static_cast<std::size_t>(part.end) * kLine, from.size());
    std::ranges::copy(from.subspan(begin, end - begin), to.subspan(begin).begin());
  });
}

}  // namespace ptbench

#include "strategies/drag.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Seconds that later drags make up for: what it may take to start threads together. Where a drag
/// lasts far longer the process was stopped, or lost its core.
constexpr double kMostMadeUp = 20e-6;

}  // namespace

Drag::Drag(double share, const Clock& clock, Threads threads)
    : clock_(share > 0 ? &clock : nullptr), share_(share), threads_(std::move(threads)) {
  ensure(share >= 0, "work can be made longer, not shorter");
}

void Drag::end() {
  if (clock_ == nullptr) return;
  const double now = clock_->now();
  worked_ += now - begin_;
  owed_ += share_ * (now - begin_);
  if (owed_ <= 0) return;
  const auto spin = [this, until = now + owed_] {
    while (clock_->now() < until) {
    }
  };
  if (threads_)
    threads_(spin);
  else
    spin();
  const double spun = clock_->now() - now;
  spun_ += spun;
  owed_ = std::max(owed_ - spun, -kMostMadeUp);
}

std::optional<double> Drag::realized() const {
  if (!(worked_ > 0)) return {};
  return spun_ / worked_;
}

Drag::Threads threads_of(Device& device) {
  return [&device](FunctionRef<void()> job) {
    device.run_on_host(device.host_threads(), [&](int) { job(); });
  };
}

ComputeObserver dragging(const Drag& drag, Device& device) {
  if (!drag.is_on()) return {};
  const auto own = std::make_shared<Drag>(drag);
  return {.on_begin =
              [own, &device] {
                device.compute().finish();
                own->begin();
              },
          .on_end =
              [own, &device] {
                device.compute().finish();
                own->end();
              }};
}

StepDrag::StepDrag(Drag drag, Strategy& strategy, Size turn) : drag_(std::move(drag)), turn_(turn) {
  if (!drag_.is_on()) return;
  strategy.around_each_step([this, &strategy](FunctionRef<void()> step) { make(strategy, step); });
}

void StepDrag::make(Strategy& strategy, FunctionRef<void()> step) {
  if (turn_ > 0 && strategy.steps() / turn_ % 2 == 0) return step();
  strategy.replica().device().finish();
  drag_.begin();
  step();
  strategy.replica().device().finish();
  drag_.end();
}

}  // namespace ptbench

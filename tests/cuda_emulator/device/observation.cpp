#include "tests/cuda_emulator/device/observation.h"

#include <algorithm>
#include <utility>

namespace ptbench::emulator {

Observation& observation() {
  static auto* const only = new Observation;  // used until the process ends
  return *only;
}

Observation::Open Observation::begin_call() {
  if (observer_ == nullptr) return {};
  const U32 outer = std::exchange(correlation_, ++calls_);
  return {.correlation = correlation_, .outer = outer, .begin = observer_->now()};
}

void Observation::end_call(const Open& open, const char* name, bool of_driver) {
  if (open.correlation == 0) return;
  correlation_ = open.outer;
  if (observer_ != nullptr)
    observer_->call({name, of_driver, open.correlation, open.begin, observer_->now()});
}

void Observation::asked(Operation& operation) const {
  if (observer_ == nullptr) return;
  constexpr U64 kDuration = 10;
  operation.correlation = correlation_;
  operation.begin = observer_->now();
  for (const OperationPtr& earlier : operation.after)
    operation.begin = std::max(operation.begin, earlier->end);
  operation.end = operation.begin + kDuration;
}

void Observation::done(const Operation& operation) const {
  if (observer_ == nullptr || operation.correlation == 0) return;
  if (operation.facts.kind == ptbench_emulator_work::nothing) return;
  observer_->work(operation.facts, operation.stream, operation.correlation, operation.begin,
                  operation.end);
}

}  // namespace ptbench::emulator

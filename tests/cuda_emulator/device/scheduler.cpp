#include "tests/cuda_emulator/device/scheduler.h"

#include <algorithm>
#include <utility>

#include "tests/cuda_emulator/device/observation.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

void Scheduler::add(const OperationPtr& operation) {
  operation->number = static_cast<U32>(infos_.size());
  infos_.push_back({operation->stream, operation->count, operation->what});
  operation->clock = host_clock_;
  observation().asked(*operation);
  for (const OperationPtr& earlier : operation->after) {
    join(operation->clock, earlier->clock);
    if (earlier->is_over) continue;
    ++operation->missing;
    earlier->followers.push_back(operation);
  }
  if (operation->clock.size() <= operation->stream) operation->clock.resize(operation->stream + 1);
  operation->clock[operation->stream] = operation->count;
  Asked& asked = asked_of_[operation->device];
  join(asked.clock, operation->clock);
  ++asked.pending;
  if (operation->missing == 0) ready_.emplace(operation->number, operation);
}

std::vector<U32> Scheduler::candidates() const {
  std::vector<U32> numbers;
  for (const auto& [number, operation] : ready_) numbers.push_back(number);
  if (order_ == Order::descending) std::ranges::reverse(numbers);
  if (order_ == Order::random && numbers.size() > 1)
    std::swap(numbers[0], numbers[random_source()() % numbers.size()]);
  return numbers;
}

bool Scheduler::run(const OperationPtr& operation) {
  surroundings_.on_device(operation->device);
  running_ = operation.get();
  bool is_over = true;
  if (operation->work) {
    surroundings_.before_work();
    operation->work();
  }
  if (operation->attempt) is_over = operation->attempt();
  running_ = nullptr;
  return is_over;
}

void Scheduler::conclude(const OperationPtr& operation) {
  observation().done(*operation);
  --asked_of_[operation->device].pending;
  operation->is_over = true;
  operation->microseconds = ++microseconds_;
  operation->work = nullptr;
  operation->attempt = nullptr;
  operation->after.clear();
  for (const OperationPtr& follower : std::exchange(operation->followers, {}))
    if (--follower->missing == 0) ready_.emplace(follower->number, follower);
}

void Scheduler::step() {
  if (ready_.empty()) report("operations wait for each other in a circle");
  for (const U32 number : candidates()) {
    const OperationPtr operation = ready_.at(number);
    if (!run(operation)) continue;
    ready_.erase(number);
    conclude(operation);
    return;
  }
  surroundings_.idle();
}

void Scheduler::wait_for(OperationPtr operation) {
  if (!operation) return;
  if (!operation->is_over) {
    while (!operation->is_over) step();
    surroundings_.after();
  }
  join(host_clock_, operation->clock);
}

void Scheduler::wait_for_all(int device) {
  Asked& asked = asked_of_[device];
  if (asked.pending != 0) {
    while (asked.pending != 0) step();
    surroundings_.after();
  }
  join(host_clock_, asked.clock);
}

void Scheduler::advance() {
  if (ready_.empty()) return;
  step();
  surroundings_.after();
}

bool Scheduler::is_before_running(U32 number) const {
  const Info& info = infos_[number];
  const Clock& clock = running_->clock;
  return info.stream < clock.size() && info.count <= clock[info.stream];
}

bool Scheduler::is_known_over(const Operation& operation) const {
  return operation.stream < host_clock_.size() && operation.count <= host_clock_[operation.stream];
}

}  // namespace ptbench::emulator

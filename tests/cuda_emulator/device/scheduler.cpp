#include "tests/cuda_emulator/device/scheduler.h"

#include <algorithm>
#include <utility>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

void Scheduler::add(const OperationPtr& operation) {
  operation->number = static_cast<U32>(infos_.size());
  infos_.push_back({operation->stream, operation->count, operation->what});
  operation->clock = host_clock_;
  for (const OperationPtr& earlier : operation->after) {
    join(operation->clock, earlier->clock);
    if (earlier->is_over) continue;
    ++operation->missing;
    earlier->followers.push_back(operation);
  }
  if (operation->clock.size() <= operation->stream) operation->clock.resize(operation->stream + 1);
  operation->clock[operation->stream] = operation->count;
  join(asked_for_, operation->clock);
  ++pending_;
  if (operation->missing == 0) ready_.emplace(operation->number, operation);
}

void Scheduler::step() {
  if (ready_.empty()) report("operations wait for each other in a circle");
  auto next = ready_.begin();
  if (order_ == Order::descending) next = std::prev(ready_.end());
  if (order_ == Order::random)
    std::advance(next, static_cast<std::ptrdiff_t>(random_source()() % ready_.size()));
  const OperationPtr operation = next->second;
  ready_.erase(next);
  running_ = operation.get();
  if (operation->work) operation->work();
  running_ = nullptr;
  --pending_;
  operation->is_over = true;
  operation->microseconds = ++microseconds_;
  operation->work = nullptr;
  operation->after.clear();
  for (const OperationPtr& follower : std::exchange(operation->followers, {}))
    if (--follower->missing == 0) ready_.emplace(follower->number, follower);
}

void Scheduler::wait_for(const OperationPtr& operation) {
  if (!operation) return;
  if (!operation->is_over) {
    surroundings_.before();
    while (!operation->is_over) step();
    surroundings_.after();
  }
  join(host_clock_, operation->clock);
}

void Scheduler::wait_for_all() {
  if (pending_ != 0) {
    surroundings_.before();
    while (pending_ != 0) step();
    surroundings_.after();
  }
  host_clock_ = asked_for_;
}

void Scheduler::advance() {
  if (pending_ == 0) return;
  surroundings_.before();
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

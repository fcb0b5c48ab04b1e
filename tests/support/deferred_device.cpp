#include "tests/support/deferred_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "tests/support/deferred_backend.h"

namespace ptbench::testing {
namespace {

/// After so long without anything to do that somebody waits for, work is done anyway.
constexpr std::chrono::milliseconds kPatience{40};
constexpr std::chrono::seconds kDeadline{60};

/// Which queues run ahead.
struct Ahead {
  bool compute = false;
  bool transfer = false;
  bool communication = false;
  bool beside = false;
};

Ahead ahead_of(Eagerness eagerness) {
  switch (eagerness) {
    case Eagerness::none: return {};
    case Eagerness::compute: return {.compute = true};
    case Eagerness::transfer: return {.transfer = true};
    case Eagerness::all_but_compute:
      return {.transfer = true, .communication = true, .beside = true};
    case Eagerness::all_but_communication:
      return {.compute = true, .transfer = true, .beside = true};
  }
  return {};
}

}  // namespace

std::byte* DeferredWorld::real(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::scoped_lock lock(places_mutex_);
  auto place = places_.upper_bound(byte);
  if (place != places_.begin()) {
    --place;
    const std::ptrdiff_t offset = byte - place->first;
    if (offset >= 0 && static_cast<Bytes>(offset) <= place->second.bytes)
      return place->second.real + offset;
  }
  return const_cast<std::byte*>(byte);
}

Buffer DeferredMemory::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  auto real = std::make_shared<Buffer>(host_.allocate(bytes, purpose));
  // One page more, so that the end of a buffer is no other's beginning.
  const Bytes length = bytes + 4096;
  void* opaque =
      mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ensure(opaque != MAP_FAILED, "there are addresses for a test");
  auto* data = static_cast<std::byte*>(opaque);
  const std::scoped_lock lock(world_.places_mutex_);
  world_.places_[data] = {.bytes = bytes, .real = real->data()};
  return {data, bytes, [this, real, length](std::byte* address) {
            const std::scoped_lock released(world_.places_mutex_);
            world_.places_.erase(address);
            munmap(address, length);
          }};
}

void DeferredEvent::finish() const {
  DeferredQueue* queue = nullptr;
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(world_.mutex_);
    queue = queue_;
    number = number_;
  }
  if (queue != nullptr) queue->finish_until(number);
}

double DeferredEvent::seconds_since(const Event& earlier) const {
  const std::scoped_lock lock(world_.mutex_);
  const auto& other = dynamic_cast<const DeferredEvent&>(earlier);
  for (const DeferredEvent* event : {this, &other})
    ensure(event->is_timed_ && event->queue_ != nullptr && event->queue_->done_ >= event->number_,
           "events whose time is asked for have a clock and are finished");
  return seconds_ - other.seconds_;
}

DeferredQueue::DeferredQueue(DeferredDevice& device, bool is_eager)
    : device_(device), is_eager_(is_eager) {}

std::unique_ptr<Event> DeferredQueue::make_event(EventClock clock) {
  return std::make_unique<DeferredEvent>(device_.world_, clock);
}

void DeferredQueue::copy(std::span<const std::byte> from, std::span<std::byte> to) {
  ensure(from.size() == to.size(), "a copy is as large as its source");
  const DeferredWorld& world = device_.world_;
  give([source = world.real(from), target = world.real(to)] {
    std::ranges::copy(source, target.begin());
  });
}

void DeferredQueue::give(std::function<void()> work) { add({.work = std::move(work)}); }

void DeferredQueue::record(Event& event) {
  auto& deferred = dynamic_cast<DeferredEvent&>(event);
  DeferredWorld& world = device_.world_;
  add({.work = [&deferred, &world] {
    const double now = SteadyClock().now();
    const std::scoped_lock lock(world.mutex_);
    deferred.seconds_ = now;
  }});
  const std::scoped_lock lock(world.mutex_);
  deferred.queue_ = this;
  deferred.number_ = given_;
}

void DeferredQueue::wait(const Event& event) {
  const auto& deferred = dynamic_cast<const DeferredEvent&>(event);
  Task task;
  {
    const std::scoped_lock lock(device_.world_.mutex_);
    task.after = deferred.queue_;
    task.number = deferred.number_;
  }
  if (task.after == nullptr || task.after == this || is_left_out(*task.after)) return;
  add(std::move(task));
}

/// A wait of this queue for that one.
bool DeferredQueue::is_left_out(const DeferredQueue& other) const {
  const DeferredWorld& world = device_.world_;
  if (this == &device_.transfer_) return world.has(Fault::transfer_waits_for_nobody);
  return this == &device_.compute_ && &other == &device_.transfer_ &&
         world.has(Fault::compute_waits_for_no_transfer);
}

void DeferredQueue::add(Task task) {
  ensure(std::this_thread::get_id() == device_.maker_, "a device is its maker's alone");
  const std::scoped_lock lock(device_.world_.mutex_);
  tasks_.push_back(std::move(task));
  ++given_;
  ++device_.world_.pending_;
  device_.asked_ = std::chrono::steady_clock::now();
  device_.world_.changed_.notify_all();
}

void DeferredQueue::finish() {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(device_.world_.mutex_);
    number = given_;
  }
  finish_until(number);
}

void DeferredQueue::finish_until(std::uint64_t number) {
  DeferredWorld& world = device_.world_;
  if (this == &device_.transfer_ && world.has(Fault::host_waits_for_no_transfer)) return;
  if (this == &device_.compute_ && world.has(Fault::host_waits_for_no_compute)) return;
  std::unique_lock lock(world.mutex_);
  wanted_ = std::max(wanted_, number);
  device_.asked_ = std::chrono::steady_clock::now();
  world.changed_.notify_all();
  const bool in_time = world.changed_.wait_for(
      lock, kDeadline, [&] { return done_ >= number || device_.failure_ != nullptr; });
  if (device_.failure_ != nullptr) std::rethrow_exception(device_.failure_);
  ensure(in_time, "a deferred queue does what it was given");
}

bool DeferredQueue::is_ready() const {
  if (tasks_.empty()) return false;
  const Task& head = tasks_.front();
  return head.after == nullptr || head.after->done_ >= head.number;
}

DeferredDevice::DeferredDevice(DeferredWorld& world, const SiteChoice& inner)
    : world_(world),
      memory_(world),
      compute_(*this, ahead_of(world.eagerness()).compute),
      transfer_(*this, ahead_of(world.eagerness()).transfer),
      communication_(*this, ahead_of(world.eagerness()).communication),
      beside_(*this, ahead_of(world.eagerness()).beside),
      queues_{&transfer_, &communication_, &beside_, &compute_},
      thread_([this] { work(); }) {
  try {
    run([&] { inner_ = open_site(inner); });
  } catch (...) {
    stop();
    throw;
  }
}

DeferredDevice::~DeferredDevice() {
  compute_.give([this] {
    inner_.backend.reset();
    inner_.device.reset();
  });
  stop();
}

void DeferredDevice::stop() {
  {
    const std::scoped_lock lock(world_.mutex_);
    stops_ = true;
    world_.changed_.notify_all();
  }
  thread_.join();
}

void DeferredDevice::finish() {
  for (DeferredQueue* queue : queues_) queue->finish();
}

DeviceConditions DeferredDevice::look() {
  DeviceConditions conditions;
  run([&] { conditions = inner_.device->look(); });
  return conditions;
}

void DeferredDevice::run(const std::function<void()>& work) {
  compute_.give(work);
  compute_.finish();
}

/// A queue whose first task can be done, and has to be before `queue` gets on.
DeferredQueue* DeferredDevice::ready_for(DeferredQueue& queue, int depth) {
  if (queue.tasks_.empty() || depth == 0) return nullptr;
  if (queue.is_ready()) return &queue;
  DeferredQueue& first = *queue.tasks_.front().after;
  first.wanted_ = std::max(first.wanted_, queue.tasks_.front().number);
  return ready_for(first, depth - 1);
}

DeferredQueue* DeferredDevice::next(bool is_idle) {
  const auto is_own = [this](const DeferredQueue* queue) {
    return queue != nullptr && &queue->device_ == this;
  };
  for (DeferredQueue* queue : queues_)
    if (queue->is_eager_ && queue->is_ready()) return queue;
  for (DeferredQueue* queue : queues_) {
    if (queue->done_ >= queue->wanted_) continue;
    constexpr int kDeepest = 64;
    DeferredQueue* const ready = ready_for(*queue, kDeepest);
    if (is_own(ready)) return ready;
    if (ready != nullptr) world_.changed_.notify_all();  // another device has to go on
  }
  if (!is_idle && !stops_) return nullptr;
  for (DeferredQueue* queue : queues_)
    if (queue->is_ready()) return queue;
  return nullptr;
}

void DeferredDevice::work() {
  std::unique_lock lock(world_.mutex_);
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_idle = now >= asked_ + kPatience;
    DeferredQueue* const queue = next(is_idle);
    if (queue == nullptr) {
      const bool is_empty =
          std::ranges::all_of(queues_, [](const auto* each) { return each->tasks_.empty(); });
      if (stops_ && is_empty) return;
      world_.changed_.wait_until(lock, (is_idle ? now : asked_) + kPatience);
      continue;
    }
    const DeferredQueue::Task task = std::move(queue->tasks_.front());
    queue->tasks_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (task.work && failure_ == nullptr) task.work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    ++queue->done_;
    --world_.pending_;
    world_.changed_.notify_all();
  }
}

SiteRow deferred_site(DeferredWorld& world) {
  return {.device = "deferred", .open = [&world](const SiteChoice& choice) {
            SiteChoice inner = choice;
            inner.device = "cpu";
            auto device = std::make_unique<DeferredDevice>(world, inner);
            auto backend = std::make_unique<DeferredBackend>(*device);
            return Site(std::move(device), std::move(backend));
          }};
}

}  // namespace ptbench::testing

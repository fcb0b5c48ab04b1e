#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/site.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/device/queue.h"

namespace ptbench::testing {

/// In which of the allowed orders a deferred device works.
enum class Eagerness : std::uint8_t {
  none,                   ///< only what the host waits for is done, and what that depends on
  compute,                ///< the queue for computing runs ahead, all others are late
  transfer,               ///< the queue for copies runs ahead, all others are late
  all_but_compute,        ///< all others run ahead, computing is late
  all_but_communication,  ///< all others run ahead, communication is late
};

inline constexpr std::array kEveryEagerness{Eagerness::none, Eagerness::compute,
                                            Eagerness::transfer, Eagerness::all_but_compute,
                                            Eagerness::all_but_communication};

/// A wait that is left out on purpose.
enum class Fault : std::uint8_t {
  none,
  transfer_waits_for_nobody,      ///< the queue for copies
  compute_waits_for_no_transfer,  ///< the queue for computing
  host_waits_for_no_transfer,     ///< before it writes what may still be copied
  host_waits_for_no_compute,      ///< before it reads a result
  operation_begins_at_once,       ///< of a communicator: an operation does not wait for its event
  operation_is_not_waited_for,    ///< by the queue for computing
};

class DeferredQueue;

/// What deferred devices of one process have in common: where their memory really lies, and the
/// lock under which their queues are kept. Outlives the devices.
class DeferredWorld {
 public:
  explicit DeferredWorld(Eagerness eagerness = Eagerness::none) : eagerness_(eagerness) {}

  [[nodiscard]] Eagerness eagerness() const { return eagerness_; }
  /// From now on that wait is left out; of a communicator's, those of operations so called.
  void plant(Fault fault, std::string operation = {}) {
    fault_ = fault;
    operation_ = std::move(operation);
  }
  [[nodiscard]] bool has(Fault fault) const { return fault_ == fault; }
  [[nodiscard]] bool has(Fault fault, std::string_view operation) const {
    return fault_ == fault && operation_ == operation;
  }
  /// Tasks of all devices that are not done yet.
  [[nodiscard]] std::size_t pending() {
    const std::scoped_lock lock(mutex_);
    return pending_;
  }
  /// Where `address`, of any device or of the host, really lies.
  [[nodiscard]] std::byte* real(const void* address) const;
  template <class T>
  [[nodiscard]] std::span<T> real(std::span<T> memory) const {
    return {reinterpret_cast<T*>(real(static_cast<const void*>(memory.data()))), memory.size()};
  }

 private:
  friend class DeferredMemory;
  friend class DeferredDevice;
  friend class DeferredQueue;
  friend class DeferredEvent;

  struct Place {
    Bytes bytes = 0;
    std::byte* real = nullptr;
  };

  Eagerness eagerness_;
  Fault fault_ = Fault::none;
  std::string operation_;
  mutable std::mutex places_mutex_;
  std::map<const std::byte*, Place> places_;  ///< by opaque address
  std::mutex mutex_;                          ///< of all queues
  std::size_t pending_ = 0;
  std::condition_variable changed_;
};

/// Memory whose addresses are of no use to the host: it cannot be read or written there.
class DeferredMemory final : public MemorySource {
 public:
  explicit DeferredMemory(DeferredWorld& world) : world_(world) {}
  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
  [[nodiscard]] Bytes footprint(Bytes bytes) const override { return host_.footprint(bytes); }

 private:
  DeferredWorld& world_;
  HostMemorySource host_;
};

/// A point in a deferred queue: the number of a task.
class DeferredEvent final : public Event {
 public:
  DeferredEvent(DeferredWorld& world, EventClock clock)
      : world_(world), is_timed_(clock == EventClock::on) {}
  void finish() const override;
  [[nodiscard]] double seconds_since(const Event& earlier) const override;

 private:
  friend class DeferredQueue;
  DeferredWorld& world_;
  bool is_timed_;
  DeferredQueue* queue_ = nullptr;  ///< that recorded it last
  std::uint64_t number_ = 0;
  double seconds_ = 0;  ///< when that was done
};

class DeferredDevice;

/// Tasks that the device's thread does later. Everything is under the world's lock.
class DeferredQueue final : public Queue {
 public:
  DeferredQueue(DeferredDevice& device, bool is_eager);

  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock clock) override;
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  void finish() override;
  /// Any other work, on the device's thread.
  void give(std::function<void()> work);

 private:
  friend class DeferredDevice;
  friend class DeferredEvent;

  struct Task {
    std::function<void()> work;
    DeferredQueue* after = nullptr;  ///< whose task `number` has to be done first
    std::uint64_t number = 0;
  };

  void add(Task task);
  void finish_until(std::uint64_t number);
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool is_left_out(const DeferredQueue& other) const;

  DeferredDevice& device_;
  bool is_eager_;
  std::deque<Task> tasks_;
  std::uint64_t given_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t wanted_ = 0;  ///< somebody waits until so many are done
};

/// A test double of a device that works later, on another thread, in an order that is hostile but
/// allowed, and whose memory the host cannot touch: what passes on it waits for all that it has to
/// wait for. Its operators are those of an inner site, which belongs to its thread. To let other
/// ranks go on that wait for this one, it does what it was given also where nobody asks for long.
class DeferredDevice final : public Device {
 public:
  DeferredDevice(DeferredWorld& world, const SiteChoice& inner);
  ~DeferredDevice() override;
  DeferredDevice(const DeferredDevice&) = delete;
  DeferredDevice& operator=(const DeferredDevice&) = delete;

  [[nodiscard]] std::string id() const override { return "deferred"; }
  [[nodiscard]] std::string name() const override { return "a device that works later"; }
  [[nodiscard]] Bytes memory_bytes() const override { return inner_.device->memory_bytes(); }
  [[nodiscard]] MemorySource& memory() override { return memory_; }
  [[nodiscard]] bool shares_memory_with_host() const override { return false; }
  [[nodiscard]] MemorySource& page_locked_memory() override { return host_; }
  [[nodiscard]] Queue& compute() override { return compute_; }
  [[nodiscard]] Queue& transfer() override { return transfer_; }
  [[nodiscard]] Queue* beside() override { return &beside_; }
  void finish() override;
  [[nodiscard]] DeviceConditions look() override;

  /// For a communicator of this device.
  [[nodiscard]] DeferredQueue& communication() { return communication_; }
  [[nodiscard]] DeferredWorld& world() { return world_; }
  /// The site that really computes; on the device's thread only.
  [[nodiscard]] Site& inner() { return inner_; }
  /// Does `work` on the device's thread, after all that was given, and returns when it is done.
  void run(const std::function<void()>& work);

 private:
  friend class DeferredQueue;
  friend class DeferredEvent;

  void work();
  void stop();
  [[nodiscard]] DeferredQueue* next(bool is_idle);
  [[nodiscard]] static DeferredQueue* ready_for(DeferredQueue& queue, int depth);

  DeferredWorld& world_;
  std::thread::id maker_ = std::this_thread::get_id();
  DeferredMemory memory_;
  HostMemorySource host_;
  DeferredQueue compute_;
  DeferredQueue transfer_;
  DeferredQueue communication_;
  DeferredQueue beside_;
  std::vector<DeferredQueue*> queues_;
  bool stops_ = false;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();  ///< last
  std::exception_ptr failure_;
  Site inner_;
  std::thread thread_;
};

/// A row for open_site whose sites are deferred devices around CPU sites.
[[nodiscard]] SiteRow deferred_site(DeferredWorld& world);

}  // namespace ptbench::testing

#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace ptbench {

/// A point in the work of a queue. Several queues, and the host, may wait for one; it can be recorded
/// again and again, and stands for its last record. It outlives the work that waits for it.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the host until the work before the last record is done; not at all where the event was
  /// never recorded. Throws a run error where that work failed.
  virtual void finish() = 0;
  /// Seconds between two events of one device that were recorded and have been finished.
  [[nodiscard]] virtual double seconds_since(const Event& earlier) const = 0;
};

/// Work of one device, done in the order in which it was given, and in no order with that of other
/// queues but for events. Giving work returns at once or when it is done, as the device likes: who
/// gives it assumes neither. For one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// An event of this queue's device. The device outlives it.
  [[nodiscard]] virtual std::unique_ptr<Event> make_event() = 0;
  /// Copies as many bytes as there are. Either side is memory of the device, memory of another
  /// device of its kind, or page-locked memory of the host; both stay untouched by others until
  /// the copy is done.
  virtual void copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// `event` stands for the end of what was given so far.
  virtual void record(Event& event) = 0;
  /// What is given from now on begins after `event` as it was last recorded; the host goes on.
  virtual void wait(const Event& event) = 0;
  /// Blocks the host until all that was given is done. Throws a run error where some of it failed.
  virtual void finish() = 0;
};

}  // namespace ptbench

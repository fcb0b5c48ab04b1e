#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "src/base/function_ref.h"

namespace ptbench {

/// Whether an event knows when it happened. Those that only order work cost less without.
enum class EventClock : bool { off, on };

/// A point in the work of a queue. Several queues, and the host, may wait for one. It can be
/// recorded again and again: a wait is for the last record before it. It outlives the work that
/// waits for it.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the host until the work before the last record is done; not at all where the event was
  /// never recorded. Throws a run error where that work failed.
  virtual void finish() const = 0;
  /// Seconds between two events of one device that have clocks, were recorded, and have been
  /// finished.
  [[nodiscard]] virtual double seconds_since(const Event& earlier) const = 0;
};

/// Work that a queue was given once, to be done again and again as one piece, which costs the host
/// one call. The queue outlives it, and so does the memory that the work reads and writes, at whose
/// addresses it works each time.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Gives all of the work to its queue.
  virtual void replay() = 0;
};

/// Work of one device, done in the order in which it was given, and in no order with that of other
/// queues but for events. Giving work returns at once or when it is done, as the device likes: who
/// gives it assumes neither. For one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Whether all that was given is done when the call returns.
  [[nodiscard]] virtual bool is_immediate() const { return false; }
  /// An event of this queue's device. The device outlives it.
  [[nodiscard]] virtual std::unique_ptr<Event> make_event(EventClock clock = EventClock::off) = 0;
  /// Copies as many bytes as there are. Either side is memory of the device, memory of another
  /// device of its kind, or page-locked memory of the host; both stay untouched by others until
  /// the copy is done.
  virtual void copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// `event` stands for the end of what was given so far.
  virtual void record(Event& event) = 0;
  /// What is given from now on begins after `event` as it was last recorded by any queue of a
  /// device of this kind; the host goes on, where the queue works later.
  virtual void wait(const Event& event) = 0;
  /// Whether work can be kept in place of being done.
  [[nodiscard]] virtual bool can_record() const { return false; }
  /// Calls `work`, and keeps what it gives to this queue; nothing of it is done. The work may
  /// neither wait for the queue nor allocate, and every value that it passes by itself, not by its
  /// place in memory, stays what it is now. Events that it records are not to be waited for outside
  /// of it until they are recorded anew. For queues that can record.
  [[nodiscard]] virtual std::unique_ptr<Recording> keep(FunctionRef<void()> work);
  /// Blocks the host until all that was given is done. Throws a run error where some of it failed.
  virtual void finish() = 0;
};

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/element_type.h"
#include "src/base/sample_values.h"
#include "src/device/device.h"
#include "src/device/host_mirror.h"
#include "src/device/memory.h"
#include "src/device/queue.h"

namespace ptbench {

/// The way of a program's micro-batches from the host to where its passes read them.
///
/// On a device that shares the host's memory the host writes them there. Elsewhere it writes one
/// after the other to rooms in page-locked memory, in rotation: while the copy of one batch waits
/// for its turn or travels, the host fills the next room. They arrive in memory of their own, while
/// the passes still read the batch before, and go from there to the passes' when these have ended.
class BatchFeed {
 public:
  /// Page-locked rooms: one to be filled while the other is copied.
  static constexpr std::size_t kRooms = 2;

  /// `inputs`, values of `type`, and `labels`: where the passes read them, in memory of `device`,
  /// which outlives the feed.
  BatchFeed(Device& device, std::span<std::byte> inputs, ElementType type,
            std::span<std::int32_t> labels);

  /// Where the host puts the next micro-batch. Blocks the host until what lay there has been sent,
  /// or, where the passes read it there, until they have.
  [[nodiscard]] BatchRoom await_room() const;
  /// Gives what the host has put there to the passes that the queue for computing is given from now
  /// on.
  void send() {
    if (arrives()) copy_batch();
  }
  /// To be called after the passes that read a micro-batch.
  void note_used() {
    if (!is_immediate_ && !arrives()) queue_.record(*rooms_[next_].is_free);
  }

 private:
  struct Room {
    HostBytes inputs;
    HostMirror<std::int32_t> labels;
    std::unique_ptr<Event> is_free;
  };

  [[nodiscard]] bool arrives() const { return arrived_inputs_.bytes() > 0; }
  void copy_batch();

  Device& device_;
  Queue& queue_;       ///< for computing
  bool is_immediate_;  ///< the queue: nothing needs to be waited for
  ElementType type_;
  std::span<std::byte> inputs_;
  std::span<std::int32_t> labels_;
  Buffer arrived_inputs_;  ///< on a device with memory of its own
  Buffer arrived_labels_;
  std::vector<Room> rooms_;
  std::size_t next_ = 0;          ///< room to be filled
  std::unique_ptr<Event> taken_;  ///< what arrived last
};

}  // namespace ptbench

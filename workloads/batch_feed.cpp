#include "workloads/batch_feed.h"

namespace ptbench {

BatchFeed::BatchFeed(Device& device, std::span<std::byte> inputs, ElementType type,
                     std::span<std::int32_t> labels)
    : device_(device),
      queue_(device.compute()),
      is_immediate_(queue_.is_immediate()),
      type_(type),
      inputs_(inputs),
      labels_(labels),
      taken_(queue_.make_event()) {
  std::size_t rooms = 1;
  if (!device.shares_memory_with_host()) {
    arrived_inputs_ = device.memory().allocate(inputs.size(), "batches that arrive");
    arrived_labels_ = device.memory().allocate(labels.size_bytes(), "labels that arrive");
    inputs = arrived_inputs_.as<std::byte>();
    labels = arrived_labels_.as<std::int32_t>();
    rooms = kRooms;
  }
  for (std::size_t room = 0; room < rooms; ++room)
    rooms_.push_back({.inputs = HostBytes(device, inputs),
                      .labels = HostMirror<std::int32_t>(device, labels),
                      .is_free = queue_.make_event()});
}

BatchRoom BatchFeed::await_room() const {
  const Room& room = rooms_[next_];
  if (!is_immediate_) room.is_free->finish();
  return {.inputs = {room.inputs.values(), type_}, .labels = room.labels.values()};
}

void BatchFeed::copy_batch() {
  const Room& room = rooms_[next_];
  next_ = (next_ + 1) % rooms_.size();
  Queue& transfer = device_.transfer();
  transfer.wait(*taken_);
  room.inputs.send(transfer);
  room.labels.send(transfer);
  transfer.record(*room.is_free);
  queue_.wait(*room.is_free);
  queue_.copy(arrived_inputs_.as<std::byte>(), inputs_);
  queue_.copy(arrived_labels_.as<std::byte>(), std::as_writable_bytes(labels_));
  queue_.record(*taken_);
}

}  // namespace ptbench

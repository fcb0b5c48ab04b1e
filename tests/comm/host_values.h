#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/communicator.h"
#include "src/device/device.h"
#include "src/device/memory.h"

namespace ptbench::testing {

/// Another communicator, of a device with memory of its own, whose callers keep their values in
/// memory of the host: they are copied to the device before each operation, and back once it was
/// waited for.
class HostValues final : public Communicator {
 public:
  /// Both outlive it.
  HostValues(Communicator& inner, Device& device) : device_(device), inner_(&inner) {}
  HostValues(std::unique_ptr<Communicator> inner, Device& device)
      : device_(device), owned_(std::move(inner)), inner_(owned_.get()) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] bool sends_values() const override { return inner_->sends_values(); }
  [[nodiscard]] Size rank() const override { return inner_->rank(); }
  [[nodiscard]] Size world_size() const override { return inner_->world_size(); }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    const auto bytes = send(values.bytes, after);
    return keep(inner_->start_all_reduce({bytes, values.type}, reduction, nullptr), values.bytes,
                bytes);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    const auto bytes = send(values.bytes, after);
    return keep(inner_->start_reduce_scatter({bytes, values.type}, reduction, nullptr),
                values.bytes, bytes);
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override {
    const auto bytes = send(values.bytes, after);
    return keep(inner_->start_all_gather({bytes, values.type}, nullptr), values.bytes, bytes);
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    const auto bytes = send(values.bytes, after);
    return keep(inner_->start_reduce({bytes, values.type}, root, reduction, nullptr), values.bytes,
                bytes);
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override {
    const auto own = send(part, after);
    const auto all = send(whole, nullptr);
    return keep(inner_->start_gather(own, all, root, nullptr), whole, all);
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    const auto sent = send(bytes, after);
    return keep(inner_->start_broadcast(sent, root, nullptr), bytes, sent);
  }
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override {
    return keep(inner_->start_send(send(bytes, after), to, nullptr), {}, {});
  }
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override {
    const auto sent = send(bytes, after);
    return keep(inner_->start_receive(sent, from, nullptr), bytes, sent);
  }
  [[nodiscard]] Ticket start_barrier() override { return inner_->start_barrier(); }
  void wait(Ticket ticket, Timeout timeout) override {
    inner_->wait(ticket, timeout);
    while (!kept_.empty() && kept_.front().ticket <= ticket) {
      fetch(kept_.front());
      kept_.erase(kept_.begin());
    }
    if (kept_.empty()) taken_ = 0;
  }
  void order(Queue& /*queue*/, Ticket ticket, Timeout timeout) override { wait(ticket, timeout); }
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout) override {
    return std::make_unique<HostValues>(inner_->split(colour, key, timeout), device_);
  }

 private:
  /// `host`: empty where nothing comes back.
  struct Kept {
    Ticket ticket{};
    std::span<std::byte> host;
    std::span<std::byte> device;
  };

  /// In the device's memory, for as long as this lives.
  [[nodiscard]] std::span<std::byte> send(std::span<const std::byte> bytes, const Event* after) {
    if (after != nullptr) after->finish();
    if (bytes.empty()) return {};
    const Buffer staged = device_.page_locked_memory().allocate(bytes.size(), "values");
    std::memcpy(staged.data(), bytes.data(), bytes.size());
    const std::span<std::byte> place = take(bytes.size());
    device_.compute().copy(staged.as<std::byte>(), place);
    device_.compute().finish();
    return place;
  }
  Ticket keep(Ticket ticket, std::span<std::byte> host, std::span<std::byte> device) {
    kept_.push_back({.ticket = ticket, .host = host, .device = device});
    return ticket;
  }
  void fetch(const Kept& kept) {
    if (kept.host.empty()) return;
    const Buffer staged = device_.page_locked_memory().allocate(kept.host.size(), "values");
    device_.compute().copy(kept.device, staged.as<std::byte>());
    device_.compute().finish();
    std::memcpy(kept.host.data(), staged.data(), kept.host.size());
  }
  /// Not where values are that are on their way.
  std::span<std::byte> take(std::size_t bytes) {
    const std::size_t room = (bytes + 255) / 256 * 256;
    if (area_.empty() || taken_ + room > area_.back().bytes()) {
      area_.push_back(device_.memory().allocate(std::max<std::size_t>(room, kArea), "values"));
      taken_ = 0;
    }
    const auto place = area_.back().as<std::byte>().subspan(taken_, bytes);
    taken_ += room;
    return place;
  }

  static constexpr std::size_t kArea = std::size_t{1} << 16U;

  HostMemorySource memory_;
  std::vector<Buffer> area_;  ///< the last is in use
  std::size_t taken_ = 0;     ///< of the last
  std::vector<Kept> kept_;
  Device& device_;
  std::unique_ptr<Communicator> owned_;  ///< ends before the memory that it works on
  Communicator* inner_;
};

}  // namespace ptbench::testing

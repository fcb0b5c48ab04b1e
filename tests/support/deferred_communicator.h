#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"
#include "tests/support/deferred_device.h"

namespace ptbench::testing {

/// A communicator of a deferred device: another one, whose operations the device's queue for
/// communication does, each until it is finished.
class DeferredCommunicator final : public Communicator {
 public:
  /// The device's thread uses `inner`, which outlives this one and is for no one else.
  DeferredCommunicator(DeferredDevice& device, Communicator& inner)
      : device_(device), inner_(inner) {
    for (auto& event : finished_) event = queue().make_event(EventClock::off);
  }
  ~DeferredCommunicator() override { finish_quietly(device_); }
  DeferredCommunicator(const DeferredCommunicator&) = delete;
  DeferredCommunicator& operator=(const DeferredCommunicator&) = delete;

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] bool sends_values() const override { return inner_.sends_values(); }
  [[nodiscard]] Size rank() const override { return inner_.rank(); }
  [[nodiscard]] Size world_size() const override { return inner_.world_size(); }
  [[nodiscard]] bool works_on_device() const override { return true; }
  void watch(WorkObserver* watch) override { watch_ = watch; }
  [[nodiscard]] MemorySource& memory() override { return device_.memory(); }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    return start("all_reduce", after, [real = real(values), reduction](Communicator& inner) {
      return inner.start_all_reduce(real, reduction);
    });
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    return start("reduce_scatter", after, [real = real(values), reduction](Communicator& inner) {
      return inner.start_reduce_scatter(real, reduction);
    });
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override {
    return start("all_gather", after, [real = real(values)](Communicator& inner) {
      return inner.start_all_gather(real);
    });
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    return start("reduce", after, [real = real(values), root, reduction](Communicator& inner) {
      return inner.start_reduce(real, root, reduction);
    });
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override {
    const DeferredWorld& world = device_.world();
    return start("gather", after,
                 [own = world.real(part), all = world.real(whole), root](Communicator& inner) {
                   return inner.start_gather(own, all, root);
                 });
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    return start("broadcast", after,
                 [real = device_.world().real(bytes), root](Communicator& inner) {
                   return inner.start_broadcast(real, root);
                 });
  }
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override {
    begin("send", after);
    queue().give([this, real = device_.world().real(bytes), to] {
      last_send_ = inner_.start_send(real, to);
    });
    sends_.push_back(started_);
    return Ticket{started_};
  }
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override {
    return start("receive", after, [real = device_.world().real(bytes), from](Communicator& inner) {
      return inner.start_receive(real, from);
    });
  }
  [[nodiscard]] Ticket start_barrier() override {
    return start("barrier", nullptr, [](Communicator& inner) { return inner.start_barrier(); });
  }
  void wait(Ticket ticket, Timeout /*timeout*/) override { finished(ticket).finish(); }
  void order(Queue& queue, Ticket ticket, Timeout /*timeout*/) override {
    const std::string_view operation = names_[static_cast<std::uint64_t>(ticket) % kOutstanding];
    if (device_.world().has(Fault::operation_is_not_waited_for, operation)) return;
    queue.wait(finished(ticket));
  }
  [[nodiscard]] std::unique_ptr<Communicator> split(Size /*colour*/, Size /*key*/,
                                                    Timeout /*timeout*/) override {
    throw Defect("no test splits a deferred communicator");
  }

 private:
  static constexpr std::size_t kOutstanding = 512;
  static constexpr std::chrono::seconds kLongest{30};

  [[nodiscard]] DeferredQueue& queue() { return device_.communication(); }
  [[nodiscard]] Values real(Values values) const {
    return {.bytes = device_.world().real(values.bytes), .type = values.type};
  }
  [[nodiscard]] Event& finished(Ticket ticket) {
    const auto number = static_cast<std::uint64_t>(ticket);
    ensure(number >= 1 && number <= started_ && started_ - number < kOutstanding,
           "a ticket comes from a started operation");
    if (std::ranges::find(sends_, number) != sends_.end()) {
      queue().give([this] { inner_.wait(last_send_, kLongest); });
      record_sends();
    }
    return *finished_[number % kOutstanding];
  }
  void begin(std::string_view name, const Event* after) {
    if (after != nullptr && !device_.world().has(Fault::operation_begins_at_once, name))
      queue().wait(*after);
    ++started_;
    names_[started_ % kOutstanding] = name;
  }
  template <class Start>
  Ticket start(std::string_view name, const Event* after, Start start) {
    begin(name, after);
    const WorkEvents watched = watch_ == nullptr ? WorkEvents{} : watch_->next();
    if (watched.begin != nullptr) queue().record(*watched.begin);
    queue().give([this, start] { inner_.wait(start(inner_), kLongest); });
    if (watched.end != nullptr) queue().record(*watched.end);
    record_sends();
    queue().record(*finished_[started_ % kOutstanding]);
    return Ticket{started_};
  }
  /// Those before what was waited for are finished.
  void record_sends() {
    for (const std::uint64_t send : sends_) queue().record(*finished_[send % kOutstanding]);
    sends_.clear();
  }

  DeferredDevice& device_;
  Communicator& inner_;
  std::array<std::unique_ptr<Event>, kOutstanding> finished_;
  std::array<std::string_view, kOutstanding> names_{};
  std::uint64_t started_ = 0;
  /// Sends that nobody has waited for: others may be started first, as ranks send to each other.
  std::vector<std::uint64_t> sends_;
  Ticket last_send_{};
  WorkObserver* watch_ = nullptr;
};

}  // namespace ptbench::testing

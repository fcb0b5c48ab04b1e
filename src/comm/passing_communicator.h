#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "src/comm/communicator.h"

namespace ptbench {

/// Passes every call on to another communicator, which outlives it: what is to be otherwise, a
/// derived class overrides. Groups that it is split into are those of the other.
class PassingCommunicator : public Communicator {
 public:
  explicit PassingCommunicator(Communicator& inner) : inner_(inner) {}

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] bool sends_values() const override { return inner_.sends_values(); }
  [[nodiscard]] Size rank() const override { return inner_.rank(); }
  [[nodiscard]] Size world_size() const override { return inner_.world_size(); }
  [[nodiscard]] bool works_on_device() const override { return inner_.works_on_device(); }
  void watch(WorkObserver* watch) override { inner_.watch(watch); }
  [[nodiscard]] MemorySource& memory() override { return inner_.memory(); }
  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    return inner_.start_all_reduce(values, reduction, after);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    return inner_.start_reduce_scatter(values, reduction, after);
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override {
    return inner_.start_all_gather(values, after);
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    return inner_.start_reduce(values, root, reduction, after);
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override {
    return inner_.start_gather(part, whole, root, after);
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    return inner_.start_broadcast(bytes, root, after);
  }
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override {
    return inner_.start_send(bytes, to, after);
  }
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override {
    return inner_.start_receive(bytes, from, after);
  }
  [[nodiscard]] Ticket start_barrier() override { return inner_.start_barrier(); }
  void wait(Ticket ticket, Timeout timeout) override { inner_.wait(ticket, timeout); }
  void order(Queue& queue, Ticket ticket, Timeout timeout) override {
    inner_.order(queue, ticket, timeout);
  }
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout) override {
    return inner_.split(colour, key, timeout);
  }

 protected:
  [[nodiscard]] Communicator& inner() { return inner_; }

 private:
  Communicator& inner_;
};

}  // namespace ptbench

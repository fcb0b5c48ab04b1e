#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"
#include "src/device/isa.h"

namespace ptbench {

/// A world of one. A reduction that scales or rounds does so as in a larger world (reduce.h), and a
/// message is copied when the second of its two sides starts: by the host, at once. All else is the
/// identity and touches nothing, so that it serves values in any device's memory and the host need
/// not wait: the waiter for the ticket comes after `after`, a queue on the device.
class SoloCommunicator final : public Communicator {
 public:
  static constexpr std::string_view kName = "solo";

  /// `memory` outlives the communicator.
  explicit SoloCommunicator(MemorySource& memory) : memory_(memory), isa_(detect_isa()) {}

  [[nodiscard]] std::string name() const override { return std::string(kName); }
  [[nodiscard]] bool sends_values() const override { return false; }
  [[nodiscard]] Size rank() const override { return 0; }
  [[nodiscard]] Size world_size() const override { return 1; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_barrier() override;
  /// Throws a defect for a ticket that was never given out, and a run error, at once, where a
  /// message lacks its other side.
  void wait(Ticket ticket, Timeout timeout) override;
  /// Hands what is awaited, up to the ticket, to the queue: from then on the host and other queues
  /// wait by that queue, and wait() of the same ticket or an earlier one returns at once.
  void order(Queue& queue, Ticket ticket, Timeout timeout) override;
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout = kLongWork) override;

 private:
  /// One side of a message that waits for the other.
  struct Half {
    std::uint64_t ticket = 0;
    std::span<const std::byte> sent;  ///< or
    std::span<std::byte> received;
    bool is_send = false;
  };

  /// An event that identities which nobody has waited for come after: those from `first` to `last`.
  struct Pending {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const Event* event = nullptr;
  };

  Ticket identity(const Event* after);
  template <class Await>
  void take_pending(Ticket ticket, Await await_event);
  Ticket reduce(Values values, Reduction reduction, bool travels, const Event* after);
  Ticket match(Half half);
  void require_complete(Ticket ticket) const;

  MemorySource& memory_;
  Isa isa_;
  std::uint64_t started_ = 0;
  std::vector<Pending> pending_;  ///< each event once
  std::vector<Half> halves_;      ///< in the order in which they came; all are sends, or none
};

}  // namespace ptbench

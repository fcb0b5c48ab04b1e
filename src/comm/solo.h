#pragma once

#include "src/comm/communicator.h"
#include "src/device/isa.h"

namespace ptbench {

/// A world of one: every collective is done when started. A reduction scales and rounds as in a
/// larger world (reduce.h); all else is the identity.
class SoloCommunicator final : public Communicator {
 public:
  /// `memory` outlives the communicator.
  explicit SoloCommunicator(MemorySource& memory) : memory_(memory), isa_(detect_isa()) {}

  [[nodiscard]] std::string name() const override { return "solo"; }
  [[nodiscard]] Size rank() const override { return 0; }
  [[nodiscard]] Size world_size() const override { return 1; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_all_reduce(std::span<float> values, Reduction reduction) override;
  [[nodiscard]] Ticket start_reduce_scatter(std::span<float> values, Reduction reduction) override;
  [[nodiscard]] Ticket start_all_gather(std::span<float> values) override;
  [[nodiscard]] Ticket start_reduce(std::span<float> values, Size root,
                                    Reduction reduction) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root) override;
  [[nodiscard]] Ticket start_barrier() override;
  /// Throws a defect for a ticket that was never given out.
  void wait(Ticket ticket, Timeout timeout) override;

 private:
  MemorySource& memory_;
  Isa isa_;
  std::uint64_t started_ = 0;
};

}  // namespace ptbench

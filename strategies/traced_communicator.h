#pragma once

#include <vector>

#include "src/comm/passing_communicator.h"
#include "src/measure/step_phases.h"

namespace ptbench {

/// Has a trace show each operation of another communicator, from when this rank starts it until it
/// knows that it is finished. For a training that is traced, so that others know nothing of it.
/// Operations outside of the steps that are timed, and those of groups, are passed on unseen.
class TracedCommunicator final : public PassingCommunicator {
 public:
  /// `timer`: of this rank's steps, with a trace. Both outlive the communicator.
  TracedCommunicator(Communicator& inner, PhaseTimer& timer);

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override;
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override;
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override;
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override;
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override;
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override;
  [[nodiscard]] Ticket start_barrier() override;
  void wait(Ticket ticket, Timeout timeout) override;
  void order(Queue& queue, Ticket ticket, Timeout timeout) override;

 private:
  template <class Start>
  Ticket start(const CollectiveStart& what, const Start& start);
  void finish(Ticket ticket);

  PhaseTimer& timer_;
  std::vector<Ticket> outstanding_;  ///< that the trace shows, in their order
};

}  // namespace ptbench

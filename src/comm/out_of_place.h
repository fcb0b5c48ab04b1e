#pragma once

#include <span>

#include "src/comm/communicator.h"

namespace ptbench {

/// What a communicator is besides that can leave values where they are given and put the result
/// elsewhere, in the memory of its device. Training works in place; this is for measuring what the
/// other way costs. Sums are of floats as they are. Tickets, order and errors are the
/// communicator's. `given` and `result` are as long as each other and lie apart; what a rank has no
/// part in stays as it is.
class OutOfPlace {
 public:
  using Ticket = Communicator::Ticket;

  virtual ~OutOfPlace() = default;
  /// Puts the sum over ranks into `result` on every rank.
  [[nodiscard]] virtual Ticket start_all_reduce(std::span<const float> given,
                                                std::span<float> result) = 0;
  /// Puts this rank's `rank_part` of the sum into `result`, where it lies in the whole.
  [[nodiscard]] virtual Ticket start_reduce_scatter(std::span<const float> given,
                                                    std::span<float> result) = 0;
  /// Puts every rank's `rank_part` of what it gives into `result` on every rank.
  [[nodiscard]] virtual Ticket start_all_gather(std::span<const float> given,
                                                std::span<float> result) = 0;
  /// Puts what `root` gives into `result` on every rank.
  [[nodiscard]] virtual Ticket start_broadcast(std::span<const float> given,
                                               std::span<float> result, Size root) = 0;
  /// Puts the sum over ranks into `result` on `root`.
  [[nodiscard]] virtual Ticket start_reduce(std::span<const float> given, std::span<float> result,
                                            Size root) = 0;
};

}  // namespace ptbench

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/device/host_mirror.h"
#include "strategies/conductor.h"
#include "strategies/strategy.h"

namespace ptbench {

/// The first rank whose parameters are not those of rank 0, bit for bit; empty where there is none,
/// as after each step of a data-parallel strategy. Running statistics may differ. All ranks call it
/// between the same two steps, and get one answer.
[[nodiscard]] std::optional<Size> first_differing_rank(Strategy& tested, ControlChannel& control,
                                                       Communicator::Timeout timeout);

/// The rate of a side whose rate is `own` where it should be `from`, once `from` becomes `to`: what
/// was wrong stays as wrong.
[[nodiscard]] double moved_rate(double own, double from, double to);

/// The ranks of a training that is verified: gives all of them rank 0's state before a step, and
/// brings what they made of it to rank 0 afterwards. In a world of one it does nothing.
class VerifiedRanks {
 public:
  /// All ranks make one over their part of the same training. Everything outlives it.
  /// `broadcast_buffers`: the training gives rank 0's running statistics to all before each step,
  /// so that the others' need not be there: they are made NaN instead.
  VerifiedRanks(Strategy& tested, ControlChannel& control, Conductor& conductor,
                Communicator::Timeout timeout, bool broadcast_buffers);

  /// On rank 0, between steps: the others get its parameters, optimizer state, number of updates,
  /// loss scaler and learning rate. Before the first step parameters are left to the strategy: the
  /// others' are NaN.
  void share_state();
  /// On rank 0, after a step: its gradients and optimizer state become those of the ranks that have
  /// them. Says what is wrong where ranks differ that must be equal: parameters, optimizer state,
  /// the number of updates, loss scalers, running statistics that never came; or where no rank has
  /// some part.
  [[nodiscard]] std::optional<std::string> gather_results();
  /// On the others, wherever rank 0 does one of the two.
  void follow();

 private:
  enum class Task : std::uint8_t { share_state, gather_results };
  /// A part of the arena, and the rank that has it.
  struct Owned {
    Size rank = 0;
    Range range;
  };

  [[nodiscard]] bool is_alone() const { return control_.world_size() == 1; }
  [[nodiscard]] bool is_root() const { return control_.rank() == 0; }
  void call(Task task);
  [[nodiscard]] Task hear();
  void pass_state();
  void take_order(double lr, Size updates);
  [[nodiscard]] std::optional<std::string> collect();
  [[nodiscard]] std::optional<std::string> compare_ranks();
  [[nodiscard]] std::vector<Owned> owners();
  [[nodiscard]] bool covers_all(const std::vector<Owned>& owned) const;
  void gather(std::span<float> memory, const std::vector<Owned>& owned);
  void broadcast(std::span<std::byte> bytes);
  void broadcast_arena(std::span<float> arena);
  void forget(std::span<float> memory);

  Strategy& tested_;
  ControlChannel& control_;
  Conductor& conductor_;
  Communicator::Timeout timeout_;
  bool broadcast_buffers_;
  std::optional<double> told_rate_;  ///< rank 0's, in the last order
};

}  // namespace ptbench

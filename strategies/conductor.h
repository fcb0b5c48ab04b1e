#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/measure/step_phases.h"
#include "strategies/strategy.h"

namespace ptbench {

/// How the ranks of a training agree on its steps: how many there are depends on clocks and
/// signals, which only rank 0 looks at. Before each of its steps it tells the others to make one
/// too, and at the end that there are no more.
class Conductor {
 public:
  /// What the others do besides steps.
  struct Follower {
    PhaseTimer* timer = nullptr;           ///< observes those steps that rank 0 observes
    std::function<void()> look = nullptr;  ///< called wherever rank 0 calls look()
    std::function<void()> rest = nullptr;  ///< called wherever rank 0 calls rest()
  };

  /// All ranks make one. `timeout` bounds how long rank 0 waits for the others. The channel
  /// outlives it.
  Conductor(ControlChannel& control, Communicator::Timeout timeout)
      : control_(control), timeout_(timeout) {}

  [[nodiscard]] bool leads() const { return control_.rank() == 0; }

  /// On rank 0: from now on each step of `strategy` is told to the others first. The conductor
  /// outlives the strategy's steps.
  void lead(Strategy& strategy);
  /// On rank 0, between steps: lets the others look at what they have to, such as their cores.
  void look() { (void)tell(Word::look, timeout_); }
  /// On rank 0, between steps: lets the others come to rest, and waits until they have.
  void rest();
  /// Rank 0's answer, on all ranks. Waits for rank 0 as long as work by itself may take.
  [[nodiscard]] bool agree(bool answer);
  /// On rank 0: there are no more steps.
  void stop() { (void)tell(Word::stop, timeout_); }
  /// On the others: makes the steps that rank 0 makes.
  void follow(Strategy& strategy, const Follower& follower);
  void follow(Strategy& strategy) { follow(strategy, {}); }

 private:
  enum class Word : std::uint8_t { stop, step, observed_step, look, rest, yes, no };
  /// Rank 0's word reaches all.
  [[nodiscard]] Word tell(Word word, Communicator::Timeout timeout);

  ControlChannel& control_;
  Communicator::Timeout timeout_;
};

/// The part that this rank plays in the one script of all ranks. Rank 0 leads: it alone looks at
/// clocks, stop rules and signals. What it decides reaches the others where the script decides, and
/// the steps that it makes where the script makes them: each is one call that every rank passes, so
/// that none waits for a word that nobody says.
class RankRole {
 public:
  /// The conductor outlives the role.
  explicit RankRole(Conductor& conductor) : conductor_(conductor) {}

  [[nodiscard]] bool leads() const { return conductor_.leads(); }
  [[nodiscard]] Conductor& conductor() const { return conductor_; }

  /// Rank 0's answer, on all ranks; nobody else is asked. Waits for it as long as work by itself
  /// may take.
  [[nodiscard]] bool decide(FunctionRef<bool()> answer) const;
  /// Calls `lead` on rank 0. The others make each step of `strategy` that it makes, and do what
  /// `follower` says, until it returns.
  void in_step(Strategy& strategy, FunctionRef<void()> lead,
               const Conductor::Follower& follower) const;
  void in_step(Strategy& strategy, FunctionRef<void()> lead) const { in_step(strategy, lead, {}); }

 private:
  Conductor& conductor_;
};

}  // namespace ptbench

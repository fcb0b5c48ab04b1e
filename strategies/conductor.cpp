#include "strategies/conductor.h"

#include "src/base/error.h"

namespace ptbench {

void Conductor::lead(Strategy& strategy) {
  if (control_.world_size() == 1) return;
  strategy.before_each_step([this, &strategy] {
    (void)tell(strategy.is_observed() ? Word::observed_step : Word::step, timeout_);
  });
}

void Conductor::follow(Strategy& strategy, const Follower& follower) {
  while (true) {
    // Between steps rank 0 may evaluate, or train an oracle; who watches it knows whether it lives.
    const Word word = tell(Word::stop, Communicator::kLongWork);
    const bool is_step = word == Word::step || word == Word::observed_step;
    if (!is_step && strategy.steps() > 0) (void)strategy.finish_step();
    if (word == Word::stop) break;
    if (word == Word::look) {
      follower.look();
      continue;
    }
    if (word == Word::rest) {
      if (follower.rest) follower.rest();
      control_.barrier(timeout_);
      continue;
    }
    const bool observed = word == Word::observed_step;
    ensure(!observed || follower.timer != nullptr, "observed steps are observed on all ranks");
    if (observed != strategy.is_observed()) strategy.observe(observed ? follower.timer : nullptr);
    strategy.start_step();
  }
}

void Conductor::rest() {
  if (control_.world_size() == 1) return;
  (void)tell(Word::rest, timeout_);
  control_.barrier(timeout_);
}

bool Conductor::agree(bool answer) {
  return tell(answer ? Word::yes : Word::no, Communicator::kLongWork) == Word::yes;
}

Conductor::Word Conductor::tell(Word word, Communicator::Timeout timeout) {
  control_.broadcast(std::as_writable_bytes(std::span(&word, 1)), 0, timeout);
  return word;
}

bool RankRole::decide(FunctionRef<bool()> answer) const {
  return conductor_.agree(leads() && answer());
}

void RankRole::in_step(Strategy& strategy, FunctionRef<void()> lead,
                       const Conductor::Follower& follower) const {
  if (!leads()) {
    conductor_.follow(strategy, follower);
    return;
  }
  conductor_.lead(strategy);
  lead();
  conductor_.stop();
}

}  // namespace ptbench

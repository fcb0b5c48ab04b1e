#include "strategies/conductor.h"

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Bytes kWordBytes = 64;

}  // namespace

Conductor::Conductor(Communicator& communicator, Communicator::Timeout timeout)
    : communicator_(communicator),
      timeout_(timeout),
      word_(communicator.memory().allocate(kWordBytes, "the conductor's word")) {}

void Conductor::lead(Strategy& strategy) {
  if (communicator_.world_size() == 1) return;
  strategy.before_each_step([this, &strategy] {
    (void)tell(strategy.is_observed() ? Word::observed_step : Word::step, timeout_);
  });
}

void Conductor::follow(Strategy& strategy, const Follower& follower) {
  while (true) {
    // Between steps rank 0 may evaluate, or train an oracle; who watches it knows whether it lives.
    const Word word = tell(Word::stop, Communicator::kLongWork);
    if (word == Word::stop) break;
    if (word == Word::look) {
      follower.look();
      continue;
    }
    if (word == Word::rest) {
      if (follower.rest) follower.rest();
      meet();
      continue;
    }
    const bool observed = word == Word::observed_step;
    ensure(!observed || follower.timer != nullptr, "observed steps are observed on all ranks");
    if (observed != strategy.is_observed()) strategy.observe(observed ? follower.timer : nullptr);
    (void)strategy.step();
  }
}

void Conductor::rest() {
  if (communicator_.world_size() == 1) return;
  (void)tell(Word::rest, timeout_);
  meet();
}

void Conductor::meet() { communicator_.wait(communicator_.start_barrier(), timeout_); }

bool Conductor::agree(bool answer) {
  return tell(answer ? Word::yes : Word::no, Communicator::kLongWork) == Word::yes;
}

Conductor::Word Conductor::tell(Word word, Communicator::Timeout timeout) {
  const std::span<std::byte> cell = word_.as<std::byte>().first(1);
  if (leads()) cell.front() = static_cast<std::byte>(word);
  communicator_.wait(communicator_.start_broadcast(cell, 0), timeout);
  return static_cast<Word>(cell.front());
}

}  // namespace ptbench

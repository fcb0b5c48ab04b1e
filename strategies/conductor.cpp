#include "strategies/conductor.h"

namespace ptbench {
namespace {

constexpr float kStep = 1;
constexpr Bytes kWordBytes = 64;
/// Choosing operators or evaluating a large data set.
constexpr Communicator::Timeout kLongWork = std::chrono::minutes(30);

}  // namespace

Conductor::Conductor(Communicator& communicator, Communicator::Timeout timeout)
    : communicator_(communicator),
      timeout_(timeout),
      word_(communicator.memory().allocate(kWordBytes, "the conductor's word")) {}

void Conductor::lead(Strategy& strategy) {
  if (communicator_.world_size() > 1)
    strategy.before_each_step([this] { (void)tell(kStep, timeout_); });
}

void Conductor::follow(Strategy& strategy) {
  while (tell(0, timeout_) == kStep) (void)strategy.step();
}

bool Conductor::agree(bool answer) { return tell(answer ? 1 : 0, kLongWork) == 1; }

float Conductor::tell(float word, Communicator::Timeout timeout) {
  const std::span<float> cell = word_.as<float>().first(1);
  if (leads()) cell.front() = word;
  communicator_.wait(communicator_.start_broadcast(std::as_writable_bytes(cell), 0), timeout);
  return cell.front();
}

}  // namespace ptbench

#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "src/comm/solo.h"
#include "strategies/conductor.h"
#include "strategies/verify.h"

namespace ptbench::testing {

/// Compares two trainings of this process, as `ptbench run` does where there are no other ranks.
inline VerificationRecord verify_alone(
    Strategy& tested, Strategy& oracle, const VerificationBounds& bounds = {},
    const std::function<bool()>& keep_going = [] { return true; }) {
  constexpr Communicator::Timeout kPatience = std::chrono::seconds(60);
  HostMemorySource memory;
  ControlChannel alone(std::make_unique<SoloCommunicator>(memory));
  Conductor conductor(alone, kPatience);
  VerifiedRanks ranks(tested, alone, conductor, kPatience, true);
  ComparedSteps steps;
  return verify(tested, oracle, ranks, bounds, keep_going, SteadyClock(), steps);
}

}  // namespace ptbench::testing

#pragma once

#include <chrono>

#include "src/comm/communicator.h"

// How long ranks wait for each other in tests.
namespace ptbench::testing {

/// Nobody is as late as that unless something broke.
inline constexpr Communicator::Timeout kTimeout = std::chrono::seconds(60);
/// For ranks that are known not to come.
inline constexpr Communicator::Timeout kShort = std::chrono::milliseconds(20);

inline void meet(Communicator& communicator, Communicator::Timeout timeout = kTimeout) {
  communicator.wait(communicator.start_barrier(), timeout);
}

}  // namespace ptbench::testing

#pragma once

#include <chrono>

namespace ptbench {

/// Waits until this process's other threads (a team that still spins, loaders that fill their
/// buffers) all sleep, at most for `longest`. Whether they came to rest. Takes 0.2 ms at least.
bool wait_until_quiet(std::chrono::milliseconds longest = std::chrono::seconds(2));

}  // namespace ptbench

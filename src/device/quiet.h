#pragma once

#include <chrono>

#include "src/device/device.h"

namespace ptbench {

/// Waits until this process's other threads (a team that still spins, loaders that fill their
/// buffers) all sleep, at most for `longest`. Whether they came to rest. Takes 0.2 ms at least.
bool wait_until_quiet(std::chrono::milliseconds longest = std::chrono::seconds(2));

/// Before another process gets the machine: `device` finishes all that its queues were given, and
/// other threads fall asleep, as wait_until_quiet says.
void come_to_rest(Device& device);

}  // namespace ptbench

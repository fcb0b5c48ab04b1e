#pragma once

#include <algorithm>
#include <array>
#include <csignal>

namespace ptbench {

/// What asks a run to end: it keeps what was measured. SIGHUP says that its terminal is gone.
inline constexpr std::array<int, 3> kInterruptSignals{SIGINT, SIGTERM, SIGHUP};

[[nodiscard]] constexpr bool is_interrupt_signal(int signal) {
  return std::ranges::find(kInterruptSignals, signal) != kInterruptSignals.end();
}

}  // namespace ptbench

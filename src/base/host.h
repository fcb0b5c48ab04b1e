#pragma once

#include <string>

namespace ptbench {

/// This host's name: PTBENCH_HOST_ID where that is set (containers of one machine may share a
/// name), else what the kernel calls it.
[[nodiscard]] std::string host_name();

/// Which clock the steady clock of this process is: processes with equal texts read one clock, so
/// that their readings can be compared. Other texts: another machine, or a container whose clock
/// was shifted.
[[nodiscard]] std::string steady_clock_identity();

}  // namespace ptbench

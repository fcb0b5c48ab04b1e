#pragma once

#include <string>

namespace ptbench {

/// This host's name: PTBENCH_HOST_ID where that is set (containers of one machine may share a
/// name), else what the kernel calls it.
[[nodiscard]] std::string host_name();

}  // namespace ptbench

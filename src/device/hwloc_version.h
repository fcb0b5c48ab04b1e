#pragma once

#include <string>

namespace ptbench {

/// Version of the hwloc that ptbench was compiled with, "2.9.0".
[[nodiscard]] std::string hwloc_version();

}  // namespace ptbench

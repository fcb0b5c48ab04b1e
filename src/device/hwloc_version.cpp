#include "src/device/hwloc_version.h"

#include <hwloc.h>

namespace ptbench {

// The library itself tells only the version of its interface.
std::string hwloc_version() { return HWLOC_VERSION; }

}  // namespace ptbench

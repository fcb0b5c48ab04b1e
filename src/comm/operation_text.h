#pragma once

#include <string>
#include <vector>

#include "src/comm/shm/shared_layout.h"

namespace ptbench {

/// "all_reduce of 4,096 bytes", "broadcast of 12 bytes from rank 1", "barrier".
[[nodiscard]] std::string operation_text(const shared::Operation& operation);

/// "rank 3", "ranks 0, 2 and 5"; of many, the first few and how many more.
[[nodiscard]] std::string ranks_text(const std::vector<Size>& ranks);

}  // namespace ptbench

#pragma once

#include <cstddef>

namespace ptbench::testing {

/// Calls of operator new in this program so far, by all threads.
[[nodiscard]] std::size_t allocation_count();

}  // namespace ptbench::testing

#pragma once

#include <string_view>

namespace ptbench {

/// Writes all of `text` to an open file, however many calls that takes: one call may write less, or
/// be interrupted. 0, or the error number of what went wrong.
[[nodiscard]] int write_all(int file, std::string_view text);

}  // namespace ptbench

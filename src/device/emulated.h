#pragma once

#include <string_view>

namespace ptbench {

/// Whether a device of this name is emulated: its results are right, and it has no speed.
[[nodiscard]] inline bool is_emulated(std::string_view device_name) {
  return device_name.starts_with("emulated");
}

}  // namespace ptbench

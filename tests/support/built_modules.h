#pragma once

#include <filesystem>
#include <string>

namespace ptbench::testing {

/// Whether this build has the engine module of that name: then it has to work.
[[nodiscard]] inline bool is_built(const std::string& engine) {
  return std::filesystem::exists(std::filesystem::path(PTBENCH_BUILT_MODULES) /
                                 ("libptbench_" + engine + ".so"));
}

}  // namespace ptbench::testing

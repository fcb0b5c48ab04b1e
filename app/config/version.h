#pragma once

#include <string>

namespace ptbench {

/// Which build this is, for `--version` and for records.
struct BuildInfo {
  std::string version;     ///< "0.1.0"
  std::string git_commit;  ///< "8bec0d0c1f2e", "…-dirty" with changes on top, or "unknown"
  std::string git_date;    ///< of the commit, "2025-06-30"; may be empty
  std::string build_type;  ///< "Release"
};

[[nodiscard]] BuildInfo build_info();

/// "ptbench 0.1.0 (commit 8bec0d0c1f2e, Release)".
[[nodiscard]] std::string version_text();

}  // namespace ptbench

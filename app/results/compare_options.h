#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/option_table.h"
#include "src/judge/comparison.h"

namespace ptbench {

/// What `ptbench compare` is told.
struct CompareConfig {
  std::vector<std::string> files;       ///< without a name: BASE and NEW, or NEW, or all results
  std::vector<std::string> base_files;  ///< more of BASE
  std::vector<std::string> new_files;   ///< more of NEW
  CompareOptions comparison;
  bool strict = false;
  bool json = false;
  std::vector<std::string> outputs;
  std::optional<std::string> history;
  std::optional<Size> last;
  std::optional<Size> anchor;
  bool append = false;
  bool accept = false;
  bool self_check = false;
};

/// The files and folders of both sides.
struct ComparedSides {
  std::vector<std::string> base;  ///< empty with a history
  std::vector<std::string> fresh;
};

[[nodiscard]] OptionTable<CompareConfig> compare_option_table();

/// Which file belongs to which side. A usage error for too few or too many, for a history that is
/// no .jsonl, and for options of a history without one. Not for self-checks, which have no sides.
[[nodiscard]] ComparedSides sides_of(const CompareConfig& config);

}  // namespace ptbench

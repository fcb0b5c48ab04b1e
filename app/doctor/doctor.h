#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/table.h"
#include "src/base/install_paths.h"

namespace ptbench {

/// One thing that `ptbench doctor` looked at.
struct Finding {
  std::string name;   ///< "cuda", "memory_bytes"
  std::string state;  ///< "ready", "emulated", "driver absent", "not part of this build", "note", …
  FieldValue value;   ///< for scripts, where there is a plain one
  std::string detail;  ///< for people
  std::string remedy;  ///< how to get what is missing; empty where nothing is
};

/// The state of a finding that is neither good nor bad.
inline constexpr const char* kNote = "note";
[[nodiscard]] inline Finding note(std::string name, FieldValue value, std::string detail) {
  return {std::move(name), kNote, std::move(value), std::move(detail), ""};
}

struct FindingGroup {
  std::string name;  ///< "engines"
  std::vector<Finding> findings;
};

/// Looks at program, engines, libraries, processor, noise and files. What cannot be found out
/// becomes a finding that says so: nothing here throws for a machine that lacks something.
[[nodiscard]] std::vector<FindingGroup> examine_machine(const InstallPaths& paths);

/// For people, at most `columns` wide.
[[nodiscard]] std::string doctor_text(const std::vector<FindingGroup>& groups, std::size_t columns);

/// A table for each group, for JSON.
[[nodiscard]] std::vector<Table> doctor_tables(const std::vector<FindingGroup>& groups);

/// The choice in brackets of a kernel file like "always [madvise] never"; empty if there is none.
[[nodiscard]] std::string bracketed_choice(const std::string& text);

}  // namespace ptbench

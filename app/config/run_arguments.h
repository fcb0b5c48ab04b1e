#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/option_table.h"

namespace ptbench {

/// What a RunSession hands to the `ptbench run` of its processes, as "--batch-size=32".
struct RunArguments {
  std::vector<std::string> common;  ///< of all, --verify included
  std::vector<std::string> first;   ///< of the first repetition: files that training writes
};

/// Of the options of a `run`, those that its processes take too. Left out is what a session sets
/// itself (--plan, --max-time, --pass, …) and what only the process that the user started does
/// (--output, --repeats, …).
[[nodiscard]] RunArguments pass_on(std::span<const NamedAssignment> assignments);

/// The argument that makes the assignment: "--batch-size=32", "--json".
[[nodiscard]] std::string argument_of(const NamedAssignment& assignment);

}  // namespace ptbench

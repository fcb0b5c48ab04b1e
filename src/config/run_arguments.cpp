#include "src/config/run_arguments.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ptbench {
namespace {

constexpr std::array<std::string_view, 11> kKept{
    "output", "json", "repeats", "target-noise", "min-time",       "max-time",
    "plan",   "pass", "turns",   "keep-plan",    "progress-prefix"};
constexpr std::array<std::string_view, 3> kFirst{"loss-log", "save-initial-weights",
                                                 "save-final-weights"};

}  // namespace

RunArguments pass_on(std::span<const NamedAssignment> assignments) {
  RunArguments arguments;
  for (const NamedAssignment& assignment : assignments) {
    if (is_one_of(assignment.name, kKept)) continue;
    (is_one_of(assignment.name, kFirst) ? arguments.first : arguments.common)
        .push_back(argument_of(assignment));
  }
  return arguments;
}

std::string argument_of(const NamedAssignment& assignment) {
  const std::string option = "--" + assignment.name;
  return assignment.text.empty() ? option : option + "=" + assignment.text;
}

}  // namespace ptbench

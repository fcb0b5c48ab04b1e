#include "app/config/run_arguments.h"

#include "app/config/run_options.h"

namespace ptbench {
namespace {

/// Whether a session says itself what this is about, or only the process that the user started
/// does it.
bool stays(OptionScope scope) {
  switch (scope) {
    case OptionScope::repetitions:
    case OptionScope::budget:
    case OptionScope::plan:
    case OptionScope::report:
    case OptionScope::task:
    case OptionScope::leading: return true;
    default: return false;
  }
}

}  // namespace

RunArguments pass_on(std::span<const NamedAssignment> assignments) {
  RunArguments arguments;
  for (const NamedAssignment& assignment : assignments) {
    const OptionScope scope = scope_of(assignment.name);
    if (stays(scope)) continue;
    const bool is_once =
        scope == OptionScope::training_files || scope == OptionScope::first_repetition;
    (is_once ? arguments.first : arguments.common).push_back(argument_of(assignment));
  }
  return arguments;
}

std::string argument_of(const NamedAssignment& assignment) {
  const std::string option = "--" + assignment.name;
  return assignment.text.empty() ? option : option + "=" + assignment.text;
}

}  // namespace ptbench

#pragma once

#include <string>
#include <vector>

#include "src/cli/command.h"

namespace ptbench {

/// Help is no wider than this, in columns.
inline constexpr std::size_t kHelpWidth = 100;

/// `ptbench --help`: what it is, the commands, first steps.
[[nodiscard]] std::string overview_text(const std::vector<Command>& commands);

/// `ptbench COMMAND --help`: usage, examples, options by group with their defaults.
[[nodiscard]] std::string command_text(const Command& command);

/// "ptbench validate [options] FILE...".
[[nodiscard]] std::string usage_line(const Command& command);

}  // namespace ptbench

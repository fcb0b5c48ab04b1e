#pragma once

#include <string>
#include <vector>

#include "app/cli/command_table.h"

namespace ptbench {

/// Scripts that let a shell complete commands, options and their values, written from the table.
[[nodiscard]] std::string bash_completions(const std::vector<Command>& commands);
[[nodiscard]] std::string zsh_completions(const std::vector<Command>& commands);
[[nodiscard]] std::string fish_completions(const std::vector<Command>& commands);

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "app/cli/command_table.h"

namespace ptbench {

/// Help is no wider than this, in columns, however wide the terminal is.
inline constexpr std::size_t kHelpWidth = 100;

/// For help on this stream.
[[nodiscard]] std::size_t help_width(std::FILE* stream);

/// `ptbench --help`: what it is, the commands, first steps.
[[nodiscard]] std::string overview_text(const std::vector<Command>& commands,
                                        std::size_t columns = kHelpWidth);

/// `ptbench COMMAND --help`: usage, examples, options by group with their defaults.
[[nodiscard]] std::string command_text(const Command& command, std::size_t columns = kHelpWidth);

/// Headings of the options that are shown, in the order in which they first appear.
[[nodiscard]] std::vector<std::string> groups_of(const std::vector<OptionInfo>& options);

/// The help and what the option takes: "samples in a micro-batch; a whole number from 1 to 64".
[[nodiscard]] std::string meaning_of(const OptionInfo& option);

/// "ptbench validate [options] FILE...".
[[nodiscard]] std::string usage_line(const Command& command);

}  // namespace ptbench

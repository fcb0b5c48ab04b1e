#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_table.h"

namespace ptbench {

/// The manual page ptbench(1), in the macros of man(7), written from the command table. ASCII;
/// other characters are roff's escapes.
[[nodiscard]] std::string man_page(const std::vector<Command>& commands);

/// `text` as roff prints it, whatever stands in it, as one line.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace ptbench

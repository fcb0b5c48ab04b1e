#pragma once

#include <string>
#include <vector>

#include "tests/support/program.h"

namespace ptbench::testing {

/// A program's streams are a terminal; `settings.output` is left alone.
struct TerminalResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  std::string shown;   ///< all that was written, with what moves the cursor
};

/// Runs `command` (the program's path first) to its end on a terminal of its own, as wide as that.
[[nodiscard]] TerminalResult run_on_terminal(const std::vector<std::string>& command,
                                             unsigned short columns,
                                             const ProgramSettings& settings = {});

/// The lines that stay on the terminal: without colour, and without progress, which was cleared.
[[nodiscard]] std::vector<std::string> lines_left(const std::string& shown);

}  // namespace ptbench::testing

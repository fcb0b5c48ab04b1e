#pragma once

#include <cstddef>

namespace ptbench {

/// How many columns the terminal has that the open file `file` is; 0 for what is none, and where
/// the terminal does not know.
[[nodiscard]] std::size_t terminal_columns(int file);

/// How wide a text for `file` may be: the terminal's columns, else what COLUMNS says of it, at
/// least `least`; `elsewhere` where the file is not a terminal.
[[nodiscard]] std::size_t text_columns(int file, std::size_t least, std::size_t elsewhere);

}  // namespace ptbench

#pragma once

#include <string>
#include <string_view>

namespace ptbench {

/// Messages for people go to standard error; standard output is data.
void log_note(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

/// `text` with control characters (of names and paths that came from outside) written as \xNN, so
/// that no message can move a terminal's cursor.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ptbench

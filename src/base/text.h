#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// Bytes of the well-formed UTF-8 sequence at the start of `text` (not empty), by table 3-7 of the
/// Unicode standard; 0 if there is none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view text);

/// `text` with each byte that belongs to no well-formed UTF-8 sequence replaced by U+FFFD, so that
/// names from outside cannot make a result file unreadable.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Valid UTF-8 without control characters: C0, DEL and C1 are written as \xNN, so that no name can
/// break a table or move a terminal's cursor.
[[nodiscard]] std::string single_line(std::string_view text);

/// With ASCII's capital letters made small, in whatever locale.
[[nodiscard]] std::string in_lower_case(std::string_view text);

/// `word` as a shell takes it for one word of the same bytes: in quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view word);

/// A command line that a shell takes apart into `words` again: those that mean something to it in
/// quotes, control characters as \xNN.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace ptbench

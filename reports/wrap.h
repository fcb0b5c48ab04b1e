#pragma once

#include <string>
#include <string_view>

namespace ptbench {

/// `text` (valid UTF-8, one line) broken at spaces so that no line is wider than `columns`, a code
/// point counted as one; lines after the first begin with `indent` spaces, and the first line
/// starts at column `indent`. Words that are too long are cut.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

/// Code points of valid UTF-8 text.
[[nodiscard]] std::size_t code_points(std::string_view text);

}  // namespace ptbench

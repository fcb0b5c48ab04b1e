#pragma once

#include <string>
#include <string_view>

namespace ptbench {

/// Text that Markdown and HTML leave as it is: one line, with what means something there as a
/// character reference. A name after '@' would be told that it was mentioned.
[[nodiscard]] std::string markdown_escaped(std::string_view text);

/// As code, not with backticks, within which nothing can be escaped.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// A sentence with names in backticks, as `conclusion_of` writes it: these as code, the rest
/// escaped.
[[nodiscard]] std::string markdown_sentence(std::string_view text);

}  // namespace ptbench

#include "reports/markdown_text.h"

#include <fmt/format.h>

#include "src/base/text.h"

namespace ptbench {

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kSpecial = R"(\`*_{}[]<>#~|&"'!$^)";
  constexpr std::string_view kBlank = "&#8203;";  // of no width
  std::string result;
  for (const char letter : single_line(text)) {
    if (kSpecial.find(letter) != std::string_view::npos)
      result += fmt::format("&#{};", static_cast<int>(letter));
    else
      result += letter;
    if (letter == '@') result += kBlank;
  }
  return result;
}

std::string markdown_code(std::string_view text) {
  return "<code>" + markdown_escaped(text) + "</code>";
}

std::string markdown_sentence(std::string_view text) {
  std::string result;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = text.find('`');
    const std::string_view part = text.substr(0, end);
    result += is_code ? markdown_code(part) : markdown_escaped(part);
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + 1);
  }
}

}  // namespace ptbench

#include "reports/wrap.h"

#include <algorithm>

namespace ptbench {
namespace {

bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// The longest start of `text` with at most `count` code points.
std::string_view first_code_points(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!begins_code_point(text[end])) continue;
    if (count == 0) break;
    --count;
  }
  return text.substr(0, end);
}

/// What fits on a line of `width`, cut at the last space if there is one.
std::string_view line_of(std::string_view text, std::size_t width) {
  const std::string_view fitting = first_code_points(text, width);
  if (fitting.size() == text.size() || text[fitting.size()] == ' ') return fitting;
  const std::size_t space = fitting.rfind(' ');
  return space == std::string_view::npos || space == 0 ? fitting : fitting.substr(0, space);
}

}  // namespace

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  constexpr std::size_t kLeastWidth = 10;
  const std::size_t width = std::max(columns, indent + kLeastWidth) - indent;
  std::string result;
  while (!text.empty()) {
    const std::string_view line = line_of(text, width);
    result += line;
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (!text.empty()) result += '\n' + std::string(indent, ' ');
  }
  return result;
}

}  // namespace ptbench

#include "src/process/shown_lines.h"

#include <algorithm>
#include <cctype>

namespace ptbench {
namespace {

/// The text behind `count` digits and a blank; empty where it does not begin so.
std::string_view behind_digits(std::string_view text, std::size_t count) {
  const auto end =
      std::ranges::find_if(text, [](unsigned char letter) { return std::isdigit(letter) == 0; });
  const auto digits = static_cast<std::size_t>(end - text.begin());
  const bool fits = digits > 0 && (count == 0 || digits == count) && digits < text.size();
  return fits && text[digits] == ' ' ? text.substr(digits + 1) : std::string_view();
}

}  // namespace

std::string without_log_time(std::string_view line) {
  constexpr std::size_t kMonthAndDay = 4;
  const std::size_t start = line.find_first_of("IWEF");
  if (start == std::string_view::npos) return std::string(line);
  const std::string_view label = line.substr(0, start);
  if (!label.empty() && !label.ends_with(' ') && !label.ends_with('[')) return std::string(line);
  std::string_view rest = behind_digits(line.substr(start + 1), kMonthAndDay);
  const std::size_t time = rest.find_first_not_of("0123456789:.");
  if (time == std::string_view::npos || time == 0 || rest[time] != ' ') return std::string(line);
  rest.remove_prefix(time + 1);
  if (const std::string_view text = behind_digits(rest, 0); !text.empty()) rest = text;
  return std::string(label) + line[start] + ' ' + std::string(rest);
}

bool ShownLines::is_new(std::string_view line, Size process) {
  const std::string text = without_log_time(line);
  const auto found = first_.find(text);
  if (found != first_.end()) return found->second == process;
  if (first_.size() < kMostLines) first_.emplace(text, process);
  return true;
}

}  // namespace ptbench

#include "workloads/file_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/log.h"

namespace ptbench {

std::string shown(std::string_view text) {
  return printable(text.substr(0, kLongestShown)) + (text.size() > kLongestShown ? "..." : "");
}

std::string in_quotes(std::string_view text) { return "'" + shown(text) + "'"; }

std::string few(const std::vector<std::string>& items, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > most) text += fmt::format(" and {} more", items.size() - most);
  return text;
}

}  // namespace ptbench

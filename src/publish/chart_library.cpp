#include "src/publish/chart_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "src/base/text.h"

namespace ptbench {
namespace {

/// Minified first. The package's names were written in both ways.
std::vector<std::string> places() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables
  if (const char* const named = std::getenv("PTBENCH_CHART_JS")) return {named};
  const std::string folder = "/usr/share/javascript/chart.js/";
  return {folder + "chart.min.js", folder + "Chart.min.js", folder + "chart.js",
          folder + "Chart.js"};
}

/// Empty where the file cannot be read, or is far larger than the library.
std::string text_of(const std::string& path) {
  constexpr std::size_t kMostBytes = 4 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > kMostBytes ? std::string() : text;
}

/// Whether the text can stand in a script element: nothing in it ends the element.
bool can_be_inlined(std::string_view text) {
  constexpr std::string_view kEnd = "</script";
  const auto ends = [](char one, char other) {
    return one == other || (one >= 'A' && one <= 'Z' && one - 'A' + 'a' == other);
  };
  return std::ranges::search(text, kEnd, ends).empty() &&
         text.find("<!--") == std::string_view::npos;
}

}  // namespace

ChartLibrary read_chart_library() {
  const std::vector<std::string> all = places();
  for (const std::string& path : all) {
    std::string text = text_of(path);
    if (text.find("Chart") == std::string::npos) continue;
    if (!can_be_inlined(text)) continue;
    return {.text = valid_utf8(text), .problem = {}};
  }
  return {.text = {},
          .problem = fmt::format("Charts show no values on hover: Chart.js is not at {}. Install "
                                 "libjs-chart.js and make the page again.",
                                 single_line(all.front()))};
}

}  // namespace ptbench

#include "src/publish/chart_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr const char* kVariable = "PTBENCH_CHART_JS";
constexpr InputRule kLibraryRule{.largest = Bytes{4} << 20U};

/// Minified first. The package's names were written in both ways.
constexpr std::array kPlaces{
    "/usr/share/javascript/chart.js/chart.min.js", "/usr/share/javascript/chart.js/Chart.min.js",
    "/usr/share/javascript/chart.js/chart.js", "/usr/share/javascript/chart.js/Chart.js"};

Error unusable(const std::string& file, std::string_view what) {
  return usage_error(fmt::format("{}={}: the file {}", kVariable, single_line(file), what),
                     fmt::format("name a copy of Chart.js 3, or unset {} to use Debian's "
                                 "libjs-chart.js",
                                 kVariable));
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

/// Throws where the file is not the library.
std::string library_text(const std::string& path) {
  const auto refuse = [&](const InputProblem& problem) {
    return unusable(path, problem.predicate);
  };
  const std::string text = read_input(path, kLibraryRule, refuse);
  if (text.find("Chart") == std::string::npos || !can_be_inlined(text))
    throw unusable(path, "is not Chart.js, or cannot be put into a page");
  return valid_utf8(text);
}

/// What the variable holds; null where it is not set.
const char* named_library() {
  return std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
}

}  // namespace

void check_chart_library() {
  if (const char* const named = named_library(); named != nullptr && *named != '\0')
    (void)library_text(named);
}

ChartLibrary read_chart_library() {
  if (const char* const named = named_library()) {
    if (*named == '\0')
      return {.text = {},
              .problem = fmt::format("Charts show no values on hover: {} is empty.", kVariable)};
    return {.text = library_text(named)};
  }
  for (const char* path : kPlaces) {
    try {
      return {.text = library_text(path)};
    } catch (const Error&) {
      continue;
    }
  }
  return {.text = {},
          .problem = fmt::format("Charts show no values on hover: Chart.js is not at {}. Install "
                                 "libjs-chart.js and make the page again.",
                                 kPlaces.front())};
}

}  // namespace ptbench

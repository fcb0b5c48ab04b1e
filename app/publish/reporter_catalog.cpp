#include "app/publish/reporter_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "app/publish/page_report.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "src/base/error.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::array<Reporter, 4> kReporters{
    {{".json", "the whole record, schema ptbench.result/2", to_json},
     {".csv", "one row a run, the record's scalar fields", to_csv},
     {".md", "a report with table, conclusion, warnings and environment", to_markdown},
     {".html", "a page with charts and tables, in one file that works offline", to_page, true,
      check_page_needs}}};

std::vector<std::string> known_extensions() {
  std::vector<std::string> known;
  known.reserve(kReporters.size());
  for (const Reporter& reporter : kReporters) known.emplace_back(reporter.extension);
  return known;
}

Error unknown_output(std::string_view output, const std::string& extension) {
  const std::vector<std::string> known = known_extensions();
  const std::string near = nearest(extension, known);
  std::string what = "has no extension that names its format";
  if (!extension.empty())
    what = fmt::format("ends in '{}', which is not a known format", single_line(extension));
  if (!near.empty()) what += fmt::format("; did you mean '{}'?", near);
  return usage_error(fmt::format("--output '{}' {}", single_line(output), what),
                     fmt::format("name a file that ends in {}, or - for JSON on standard output",
                                 extensions_text()));
}

}  // namespace

std::span<const Reporter> reporter_catalog() { return kReporters; }

std::string extensions_text() {
  std::vector<std::string> known = known_extensions();
  const std::string last = known.back();
  known.pop_back();
  return fmt::format("{} or {}", fmt::join(known, ", "), last);
}

const Reporter& find_reporter(std::string_view output) {
  if (output == "-") return kReporters.front();
  const std::string extension = std::filesystem::path(output).extension().string();
  const auto* const reporter = std::ranges::find(kReporters, extension, &Reporter::extension);
  if (reporter == kReporters.end()) throw unknown_output(output, extension);
  if (reporter->check != nullptr) reporter->check();
  return *reporter;
}

}  // namespace ptbench

#include "app/publish/page_report.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "app/publish/chart_library.h"
#include "app/publish/gnuplot_process.h"
#include "charts/chart_catalog.h"
#include "page/html.h"
#include "page/page.h"
#include "page/reduced_chart.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

/// Of all drawings together, so that a page of many charts can be sent by mail.
constexpr std::size_t kMostDrawnBytes = 800'000;

/// The first drawings, as many as fit; `content` says so where that is not all.
void take_drawings(std::vector<std::string> drawings, PageContent& content) {
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < drawings.size(); ++at) {
    std::string drawing = compact_svg(drawings[at]);
    bytes += drawing.size();
    if (bytes > kMostDrawnBytes) {
      content.remarks.push_back(
          fmt::format("The first {} of {} charts are drawn for paper and for "
                      "browsers without scripts; ptbench chart draws all.",
                      at, drawings.size()));
      return;
    }
    content.charts.at(at).svg = std::move(drawing);
  }
}

/// Gives each chart its drawing, or `content` the reason why there is none.
void add_drawings(PageContent& content) {
  std::vector<Chart> charts;
  for (const PageChart& chart : content.charts) charts.push_back(chart.chart);
  try {
    take_drawings(draw(charts, {.format = DrawingFormat::svg}), content);
  } catch (const Error& error) {
    std::string remark = fmt::format(
        "Charts are not drawn for paper and for browsers without "
        "scripts: {}",
        error.what());
    if (!error.remedy().empty()) remark += fmt::format("; {}", error.remedy());
    content.remarks.push_back(remark + ".");
  }
}

/// The page of `content`, which lacks its charts.
std::string page_with_charts(PageContent content, std::vector<Chart> charts) {
  const std::size_t all = charts.size();
  for (Chart& chart : reduced_charts(std::move(charts)))
    content.charts.push_back({.chart = std::move(chart)});
  if (content.charts.size() < all)
    content.remarks.push_back(
        fmt::format("The first {} of {} charts are shown; ptbench chart makes "
                    "any of them.",
                    content.charts.size(), all));
  if (content.charts.empty()) return page_html(content);
  add_drawings(content);
  ChartLibrary library = read_chart_library();
  content.library = std::move(library.text);
  if (!library.problem.empty()) content.remarks.push_back(library.problem);
  return page_html(content);
}

}  // namespace

void check_page_needs() { check_chart_library(); }

std::string page_report(std::span<const ResultFile> results, std::vector<Chart> charts) {
  return page_with_charts({.files = results}, std::move(charts));
}

std::string to_page(const ResultFile& file) {
  const std::span results(&file, 1);
  return page_report(results, make_charts({.results = results}));
}

std::string to_page(const ComparedResults& compared) {
  std::vector<ResultFile> files(compared.base.begin(), compared.base.end());
  files.insert(files.end(), compared.fresh.begin(), compared.fresh.end());
  std::vector<std::string> sides(compared.base.size(), "BASE");
  sides.resize(files.size(), "NEW");
  return page_with_charts(
      {.files = files, .comparison = &compared.comparison, .sides = sides},
      make_charts({.results = files, .sides = sides, .comparison = &compared.comparison}));
}

}  // namespace ptbench

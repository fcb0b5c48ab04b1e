#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include "charts/catalog.h"
#include "charts/gnuplot.h"
#include "reports/named_files.h"
#include "reports/output_file.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "src/base/text.h"
#include "src/cli/chart_files.h"
#include "src/cli/chart_options.h"
#include "src/cli/command_table.h"
#include "src/publish/drawn_files.h"
#include "src/publish/gnuplot_process.h"
#include "src/publish/page_report.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCharts = 100;

/// What is to be written.
struct ChartReport {
  const ChartFiles& files;
  std::span<const Chart> charts;
  ChartTheme theme;
};

/// How a file with that extension is written.
struct ChartWriter {
  std::string_view extension;
  bool needs_gnuplot;  ///< and charts: there is nothing to show without one
  void (*write)(const std::string& path, const ChartReport& report);
};

template <DrawingFormat Format>
void write_as(const std::string& path, const ChartReport& report) {
  write_drawings(path, report.charts, {.format = Format, .theme = report.theme});
}

void write_page(const std::string& path, const ChartReport& report) {
  OutputFile file(path);
  const auto& results = report.files.results.empty() ? report.files.history : report.files.results;
  file.commit(page_report(results, {report.charts.begin(), report.charts.end()}));
}

constexpr std::array kWriters{
    ChartWriter{".svg", true, write_as<DrawingFormat::svg>},
    ChartWriter{".png", true, write_as<DrawingFormat::png>},
    ChartWriter{".pdf", true, write_as<DrawingFormat::pdf>},
    ChartWriter{".html", false, write_page},
};

const ChartWriter& writer_for(const std::string& output) {
  const std::string extension = fs::path(output).extension().string();
  const auto* const found = std::ranges::find(kWriters, extension, &ChartWriter::extension);
  if (found != kWriters.end()) return *found;
  std::vector<std::string> known;
  for (const ChartWriter& writer : kWriters) known.emplace_back(writer.extension);
  const std::string near = nearest(extension, known);
  throw usage_error(
      fmt::format("--output '{}' does not end in a chart format{}", single_line(output),
                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
      fmt::format("name a file that ends in {}", fmt::join(known, ", ")));
}

std::vector<const ChartWriter*> writers_for(const ChartOptions& options) {
  refuse_files_named_twice(options.outputs);
  std::vector<const ChartWriter*> writers;
  for (const std::string& output : options.outputs) writers.push_back(&writer_for(output));
  if (std::ranges::any_of(writers, &ChartWriter::needs_gnuplot)) require_gnuplot();
  return writers;
}

/// Leaves out the runs that are not asked for.
void keep_runs(std::vector<ResultFile>& files, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const auto is_wanted = [&](const RunRecord& run) {
    return std::ranges::any_of(
        wanted, [&](const std::string& part) { return run.id.find(part) != std::string::npos; });
  };
  for (ResultFile& file : files)
    std::erase_if(file.runs, [&](const RunRecord& run) { return !is_wanted(run); });
}

ChartFiles wanted_files(const ChartOptions& options) {
  ChartFiles files = read_chart_files(options.files);
  keep_runs(files.results, options.runs);
  keep_runs(files.history, options.runs);
  return files;
}

bool is_wanted(const ChartRow& row, const ChartOptions& options) {
  return options.charts.empty() ||
         std::ranges::find(options.charts, row.name) != options.charts.end();
}

/// "speedup and efficiency need runs with …; loss needs …".
std::string needs_of(const std::vector<const ChartRow*>& rows) {
  std::string text;
  for (std::size_t at = 0; at < rows.size();) {
    std::string names(rows[at]->name);
    std::size_t end = at + 1;
    for (; end < rows.size() && rows[end]->needs == rows[at]->needs; ++end)
      names += fmt::format(" and {}", rows[end]->name);
    text += fmt::format("{}{} need{} {}", at == 0 ? "" : "; ", names, end - at == 1 ? "s" : "",
                        rows[at]->needs);
    at = end;
  }
  return text;
}

/// "3 runs, of which 1 was measured, and no collectives".
std::string contents_of(const ChartFiles& files) {
  std::map<Status, std::size_t> counts;
  std::size_t runs = 0;
  for (const std::span<const ResultFile> some : {files.source().results, files.source().history})
    for (const ResultFile& file : some)
      for (const RunRecord& run : file.runs) {
        ++counts[run.status];
        ++runs;
      }
  std::string text = fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
  for (const auto& [status, count] : counts) text += fmt::format(", {} {}", count, name_of(status));
  return text;
}

std::vector<Chart> wanted_charts(const ChartOptions& options, const ChartFiles& files) {
  std::vector<Chart> charts = make_charts(files.source(), options.charts);
  if (charts.size() > kMostCharts)
    throw usage_error(
        fmt::format("these records give {} charts, and at most {} are drawn at a time",
                    charts.size(), kMostCharts),
        "choose some with --chart NAME or --runs TEXT");
  std::vector<const ChartRow*> missing;
  for (const ChartRow& row : chart_catalog())
    if (is_wanted(row, options) &&
        std::ranges::none_of(charts, [&](const Chart& chart) { return chart.name == row.name; }))
      missing.push_back(&row);
  if (charts.empty())
    throw usage_error(
        fmt::format(
            "there is nothing to draw in '{}'{}: {}", single_line(options.files.front()),
            options.files.size() == 1 ? "" : fmt::format(" and {} more", options.files.size() - 1),
            contents_of(files)),
        needs_of(missing));
  if (!options.charts.empty() && !missing.empty()) log_warning("left out: " + needs_of(missing));
  return charts;
}

ExitCode chart_command(const ChartOptions& options) {
  const std::vector<const ChartWriter*> writers = writers_for(options);
  const ChartFiles files = wanted_files(options);
  const bool is_drawn = std::ranges::any_of(writers, &ChartWriter::needs_gnuplot);
  const std::vector<Chart> charts =
      is_drawn ? wanted_charts(options, files) : make_charts(files.source(), options.charts);
  const ChartTheme theme = options.theme == "dark" ? ChartTheme::dark : ChartTheme::light;
  for (std::size_t at = 0; at < writers.size(); ++at)
    writers[at]->write(options.outputs[at], {.files = files, .charts = charts, .theme = theme});
  return ExitCode::ok;
}

}  // namespace

Command make_chart_command() {
  return with_options<ChartOptions>(
      {.name = "chart",
       .summary = "draw results: scaling, where the time goes, change in time",
       .description =
           "Draws every chart that the records allow, with gnuplot; ptbench list charts says what "
           "each chart needs. Bars are 95 % intervals. Hollow points and stars mark runs that are "
           "not reliable. Equal records give equal SVG files.",
       .examples = {{"ptbench chart scaling.json -o scaling.svg",
                     "every chart of a sweep: scaling-speedup.svg, scaling-efficiency.svg, ..."},
                    {"ptbench chart scaling.json -o scaling.pdf --theme dark",
                     "the same as the pages of one file"},
                    {"ptbench chart scaling.json -o steps.png --chart steps --runs ddp/n2",
                     "the steps of one run in time"},
                    {"ptbench chart scaling.json -o scaling.html",
                     "a page with charts, tables and the answer, in one file that works offline"},
                    {"ptbench chart comm.json -o comm.svg",
                     "the bandwidth measured by ptbench comm --json > comm.json"},
                    {"ptbench chart history.jsonl -o history.svg",
                     "a history kept by compare --append"}}},
      chart_option_table(), chart_command);
}

}  // namespace ptbench

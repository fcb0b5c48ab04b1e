#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "charts/charted_runs.h"
#include "charts/charts.h"
#include "src/base/units.h"
#include "src/measure/reliability.h"

namespace ptbench {
namespace {

constexpr std::size_t kDate = 10;  // letters of "2025-06-30"

/// A run in a record of some time.
struct Entry {
  const RunRecord* run = nullptr;
  const ResultFile* file = nullptr;
  double place = 0;  ///< of its file among those of the chart
};

/// Entries of one run on one host, oldest first.
using Line = std::vector<Entry>;

/// All files, the oldest first; those of one time in the order in which they are given.
std::vector<const ResultFile*> in_order_of_time(const ChartSource& source) {
  std::multimap<std::string_view, const ResultFile*> sorted;
  for (const std::span<const ResultFile> some : {source.history, source.results})
    for (const ResultFile& file : some) sorted.emplace(file.created, &file);
  std::vector<const ResultFile*> files;
  files.reserve(sorted.size());
  for (const auto& [created, file] : sorted) files.push_back(file);
  return files;
}

bool has_step(const RunRecord& run) {
  return ended_well(run.status) && run.step_seconds.median && *run.step_seconds.median > 0;
}

/// Lines of a workload and precision, by run and host.
struct Subject {
  std::string title;
  std::vector<Line> lines;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
};

std::vector<Subject> subjects_of(const std::vector<const ResultFile*>& files) {
  std::vector<Subject> subjects;
  std::map<std::string, std::size_t> places;
  for (const ResultFile* const file : files)
    for (const RunRecord& run : file->runs) {
      if (!has_step(run)) continue;
      const auto [place, is_new] = places.emplace(subject_of(run), subjects.size());
      if (is_new) subjects.push_back({.title = place->first});
      Subject& subject = subjects[place->second];
      const auto [line, starts] =
          subject.places.try_emplace({run.id, file->environment.host.name}, subject.lines.size());
      if (starts) subject.lines.emplace_back();
      subject.lines[line->second].push_back({.run = &run, .file = file});
    }
  return subjects;
}

/// "2025-06-30 abc1234".
std::string name_of_file(const ResultFile& file) {
  std::string name = file.created.substr(0, kDate);
  const std::string commit = short_commit(file);
  if (!name.empty() && !commit.empty()) name += ' ';
  name += commit;
  return name.empty() ? "no date" : name;
}

/// Gives each file that has an entry a place, in the order of time.
void place_entries(Chart& chart, std::vector<Line>& lines,
                   const std::vector<const ResultFile*>& files) {
  std::set<const ResultFile*> used;
  for (const Line& line : lines)
    for (const Entry& entry : line) used.insert(entry.file);
  std::map<const ResultFile*, double> places;
  for (const ResultFile* const file : files) {
    if (!used.contains(file)) continue;
    const auto place = static_cast<double>(chart.x.categories.size());
    places.emplace(file, place);
    chart.x.categories.push_back(name_of_file(*file));
    if (!file->accepted.empty()) chart.marks.push_back({.x = place, .text = "accepted"});
  }
  for (Line& line : lines)
    for (Entry& entry : line) entry.place = places.at(entry.file);
}

Series series_of_line(const Line& line, std::string name) {
  const double first = *line.front().run->step_seconds.median;
  Series series{.name = std::move(name)};
  for (const Entry& entry : line) {
    const StepSecondsRecord& step = entry.run->step_seconds;
    Point point{.x = entry.place,
                .y = kPercent * *step.median / first,
                .note = fmt::format("{:.4g} ms", 1e3 * *step.median),
                .trusted = reliability_of(*entry.run).is_reliable()};
    if (step.ci95)
      point.interval = Interval{.low = kPercent * step.ci95->low / first,
                                .high = kPercent * step.ci95->high / first};
    series.points.push_back(std::move(point));
  }
  return series;
}

std::vector<std::string> names_of_lines(const std::vector<Line>& lines) {
  std::vector<Traits> traits;
  traits.reserve(lines.size());
  for (const Line& line : lines) {
    const Entry& first = line.front();
    traits.push_back(traits_of({.run = first.run,
                                .file = first.file,
                                .reliability = reliability_of(*first.run),
                                .source = first.file->environment.host.name},
                               Along::nothing));
  }
  return names_of(traits);
}

Chart history_chart(Subject subject, const std::vector<const ResultFile*>& files) {
  Chart chart{.title = fmt::format("Step time of {} over time", subject.title),
              .caption =
                  "The median step relative to the first record that has the run; bars are 95 % "
                  "intervals of the records. Below 100 % is faster.",
              .x = {.title = "record"},
              .y = {.title = "step [% of the first]"}};
  place_entries(chart, subject.lines, files);
  const std::vector<std::string> names = names_of_lines(subject.lines);
  for (std::size_t at = 0; at < subject.lines.size(); ++at)
    chart.series.push_back(series_of_line(subject.lines[at], names[at]));
  const double last = static_cast<double>(chart.x.categories.size()) - 1;
  chart.series.push_back({.name = "as at first",
                          .style = SeriesStyle::reference,
                          .points = {{.x = 0, .y = kPercent}, {.x = last, .y = kPercent}}});
  return chart;
}

}  // namespace

std::vector<Chart> history_charts(const ChartSource& source) {
  const std::vector<const ResultFile*> files = in_order_of_time(source);
  std::vector<Chart> charts;
  for (Subject& subject : subjects_of(files)) {
    std::erase_if(subject.lines, [](const Line& line) { return line.size() < 2; });
    if (subject.lines.empty()) continue;
    std::ranges::move(in_parts(history_chart(std::move(subject), files)),
                      std::back_inserter(charts));
  }
  return charts;
}

}  // namespace ptbench

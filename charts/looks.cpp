#include "charts/looks.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "charts/chart_colours.h"

namespace ptbench {
namespace {

constexpr std::size_t kSeriesColours = ChartColours().series.size();
constexpr std::size_t kPartColours = ChartColours().parts.size();
constexpr std::size_t kThinLines = 1;  // all of one colour

const std::string& thing_of(const Series& series) {
  return series.thing.empty() ? series.name : series.thing;
}

/// Numbers of what is drawn by the same means.
class Family {
 public:
  explicit Family(std::size_t colours) : colours_(colours) {}

  /// Gives the series of a chart their looks and variants.
  void number(std::span<Series* const> chart) {
    std::set<std::size_t> shown;
    for (const Series* series : chart)
      if (const auto known = numbers_.find(thing_of(*series)); known != numbers_.end())
        shown.insert(known->second % colours_);
    std::map<std::string, std::size_t> variants;
    for (Series* series : chart) {
      const auto [known, is_new] = numbers_.try_emplace(thing_of(*series), 0);
      if (is_new) {
        known->second = next(shown);
        shown.insert(known->second % colours_);
      }
      series->look = known->second;
      series->variant = variants[thing_of(*series)]++;
    }
  }

 private:
  /// The first free number of a colour that is not yet shown, or of any.
  std::size_t next(const std::set<std::size_t>& shown) {
    const bool all_are_shown = shown.size() >= colours_;
    std::size_t number = 0;
    while (taken_.contains(number) || (!all_are_shown && shown.contains(number % colours_)))
      ++number;
    taken_.insert(number);
    return number;
  }

  std::size_t colours_;
  std::map<std::string, std::size_t> numbers_;
  std::set<std::size_t> taken_;
};

}  // namespace

void give_looks(std::span<Chart> charts) {
  Family runs(kSeriesColours);
  Family parts(kPartColours);
  Family references(kThinLines);
  for (Chart& chart : charts) {
    std::vector<Series*> of_runs;
    std::vector<Series*> of_parts;
    std::vector<Series*> of_references;
    for (Series& series : chart.series) switch (series.style) {
        case SeriesStyle::line:
        case SeriesStyle::points:
        case SeriesStyle::bars: of_runs.push_back(&series); break;
        case SeriesStyle::stacked: of_parts.push_back(&series); break;
        case SeriesStyle::reference: of_references.push_back(&series); break;
        case SeriesStyle::ideal: break;  // all look alike
      }
    runs.number(of_runs);
    parts.number(of_parts);
    references.number(of_references);
  }
}

}  // namespace ptbench

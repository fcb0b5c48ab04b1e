#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "charts/charted_runs.h"
#include "charts/charts.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

struct Phase {
  std::string_view name;
  std::optional<double> PhasesRecord::* seconds;
};
/// In the order of a step. Communication that is hidden behind backward is part of that.
constexpr std::array<Phase, 10> kPhases{
    {{"data", &PhasesRecord::data},
     {"scatter", &PhasesRecord::scatter},
     {"replicate", &PhasesRecord::replicate},
     {"forward", &PhasesRecord::forward},
     {"gather", &PhasesRecord::gather},
     {"backward", &PhasesRecord::backward},
     {"reduce", &PhasesRecord::reduce},
     {"communication, exposed", &PhasesRecord::communication_exposed},
     {"optimizer", &PhasesRecord::optimizer},
     {"other", &PhasesRecord::other}}};

double sum_of(const PhasesRecord& phases) {
  double sum = 0;
  for (const Phase& phase : kPhases) sum += (phases.*phase.seconds).value_or(0);
  return sum;
}

Series series_of_phase(const Phase& phase, std::span<const ChartedRun> runs) {
  Series series{.name = std::string(phase.name),
                .style = SeriesStyle::stacked,
                .thing = std::string(phase.name.substr(0, phase.name.find(',')))};
  for (std::size_t place = 0; place < runs.size(); ++place) {
    const PhasesRecord& phases = runs[place].run->phases_seconds;
    const double seconds = (phases.*phase.seconds).value_or(0);
    if (seconds > 0)
      series.points.push_back(
          {.x = static_cast<double>(place),
           .y = kMillisecondsPerSecond * seconds,
           .note = fmt::format("{:.1f} % of the step", 100 * seconds / sum_of(phases)),
           .trusted = runs[place].is_trusted()});
  }
  return series;
}

Chart phase_chart(std::span<const ChartedRun> runs) {
  std::vector<Traits> traits;
  traits.reserve(runs.size());
  for (const ChartedRun& run : runs) traits.push_back(traits_of(run, Along::nothing));
  Chart chart{.name = {},
              .title = "Phases of a step of " + subject_of(*runs.front().run),
              .caption = fmt::format("Timed on rank 0 in separate steps. Communication during "
                                     "backward counts as backward. {}.",
                                     basis_of(runs)),
              .x = {.categories = names_of(traits)},
              .y = {.title = "step [ms]"},
              .series = {}};
  for (const Phase& phase : kPhases)
    if (Series series = series_of_phase(phase, runs); !series.points.empty())
      chart.series.push_back(std::move(series));
  return chart;
}

/// The runs of a strategy side by side, by ranks; one and the same run of several files together.
void put_in_order(std::vector<ChartedRun>& runs) {
  std::vector<ChartedRun> sorted;
  const auto without_source = [](ChartedRun run) {
    run.source.clear();
    return key_of(run, Along::ranks);
  };
  for (std::vector<ChartedRun>& group : grouped(runs, without_source))
    std::ranges::move(by_ranks(std::move(group)), std::back_inserter(sorted));
  runs = std::move(sorted);
}

}  // namespace

std::vector<Chart> phase_charts(const ChartSource& source) {
  std::vector<ChartedRun> timed = measured_runs(source);
  std::erase_if(timed,
                [](const ChartedRun& run) { return !(sum_of(run.run->phases_seconds) > 0); });
  std::vector<Chart> charts;
  for (std::vector<ChartedRun>& runs :
       grouped(timed, [](const ChartedRun& run) { return subject_of(*run.run); })) {
    put_in_order(runs);
    std::ranges::move(in_parts_of_bars(phase_chart(runs)), std::back_inserter(charts));
  }
  return charts;
}

}  // namespace ptbench

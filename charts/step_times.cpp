#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "charts/charted_runs.h"
#include "charts/charts.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

constexpr Size kMostPoints = 1000;  // of a chart: neither screens nor readers tell more apart

struct Piece {
  Range samples;                       ///< indices into step_seconds; may be empty
  const SliceRecord* slice = nullptr;  ///< null: samples of no slice
};

/// The samples of a run slice by slice, and those between slices, in order.
std::vector<Piece> pieces_of(const SamplesRecord& samples) {
  const Size count = std::ssize(samples.step_seconds);
  std::vector<Piece> pieces;
  Size at = 0;
  for (const SliceRecord& slice : samples.slices) {
    const Range range{.begin = std::clamp(slice.first, at, std::max(at, count)),
                      .end = std::clamp(slice.first + slice.count, at, std::max(at, count))};
    if (range.begin > at) pieces.push_back({.samples = {.begin = at, .end = range.begin}});
    pieces.push_back({.samples = range, .slice = &slice});
    at = range.end;
  }
  if (at < count) pieces.push_back({.samples = {.begin = at, .end = count}});
  return pieces;
}

/// "clean, near cores"; "not clean"; "not known to be clean".
std::string kind_of(const SliceRecord* slice) {
  if (slice == nullptr) return "samples";
  if (!slice->clean) return "not known to be clean";
  if (!*slice->clean) return "not clean";
  return slice->placement ? fmt::format("clean, {} cores", *slice->placement) : "clean";
}

/// The colour is the run's: the mark tells the kind.
PointShape shape_of(const std::string& kind) {
  if (kind == "not clean") return PointShape::hollow;
  if (kind.ends_with("far cores")) return PointShape::cross;
  return kind.starts_with("not known") ? PointShape::plus : PointShape::own;
}

/// Draws a run's samples from left to right.
class StepLine {
 public:
  explicit StepLine(const SamplesRecord& samples)
      : samples_(samples),
        steps_per_sample_(static_cast<double>(samples.steps_per_sample.value_or(1))),
        bin_(1 + std::ssize(samples.step_seconds) / kMostPoints) {}

  void draw(const Piece& piece) {
    if (piece.slice != nullptr) mark_repetition(*piece.slice);
    const double begin = elapsed_;
    for (Size at = piece.samples.begin; at < piece.samples.end; at += bin_)
      draw_bin(at, std::min(at + bin_, piece.samples.end), kind_of(piece.slice));
    if (piece.slice != nullptr && piece.slice->median_seconds) draw_slice(*piece.slice, begin);
  }

  /// The chart's series, which show `thing`: by kind, the median of slices last.
  [[nodiscard]] std::vector<Series> take_series(const std::string& thing) {
    std::vector<Series> series;
    for (auto& [kind, points] : kinds_)
      series.push_back({.name = kind,
                        .style = SeriesStyle::points,
                        .points = std::move(points),
                        .thing = thing,
                        .shape = shape_of(kind)});
    if (!medians_.empty())
      series.push_back({.name = "median of a slice",
                        .style = SeriesStyle::reference,
                        .points = std::move(medians_)});
    return series;
  }

  [[nodiscard]] std::vector<Mark> take_marks() { return std::move(marks_); }
  [[nodiscard]] Size samples_in_a_point() const { return bin_; }

 private:
  void mark_repetition(const SliceRecord& slice) {
    if (repetition_ && *repetition_ != slice.repetition)
      marks_.push_back({.x = elapsed_, .text = fmt::format("repetition {}", slice.repetition + 1)});
    repetition_ = slice.repetition;
  }

  void draw_bin(Size begin, Size end, const std::string& kind) {
    std::vector<double> seconds;
    for (Size at = begin; at < end; ++at)
      if (const double step = samples_.step_seconds[static_cast<std::size_t>(at)];
          std::isfinite(step))
        seconds.push_back(step);
    if (seconds.empty()) return;
    std::ranges::sort(seconds);
    const std::size_t middle = seconds.size() / 2;
    const double median =
        seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    Point point{.x = elapsed_, .y = kMillisecondsPerSecond * median};
    if (seconds.size() > 1)
      point.interval = Interval{.low = kMillisecondsPerSecond * seconds.front(),
                                .high = kMillisecondsPerSecond * seconds.back()};
    kinds_[kind].push_back(std::move(point));
    for (const double step : seconds) elapsed_ += steps_per_sample_ * step;
  }

  /// A slice's median; where the record has no samples, a point instead of them.
  void draw_slice(const SliceRecord& slice, double begin) {
    const double median = kMillisecondsPerSecond * *slice.median_seconds;
    if (samples_.step_seconds.empty()) {
      kinds_[kind_of(&slice)].push_back({.x = begin, .y = median, .note = "median of a slice"});
      elapsed_ += steps_per_sample_ * static_cast<double>(slice.count) * *slice.median_seconds;
      return;
    }
    medians_.push_back({.x = begin, .y = median});
    medians_.push_back({.x = elapsed_, .y = median});
  }

  const SamplesRecord& samples_;
  double steps_per_sample_;
  Size bin_;
  double elapsed_ = 0;  ///< seconds measured so far
  std::optional<Size> repetition_;
  std::map<std::string, std::vector<Point>> kinds_;
  std::vector<Point> medians_;
  std::vector<Mark> marks_;
};

Chart step_chart(const ChartedRun& charted, const std::string& name) {
  const SamplesRecord& samples = charted.run->samples;
  StepLine line(samples);
  for (const Piece& piece : pieces_of(samples)) line.draw(piece);
  std::string caption = "Slices are clean where nothing disturbed them.";
  if (line.samples_in_a_point() > 1)
    caption += fmt::format(
        " A point is the median of {} samples, bars reach from the shortest to "
        "the longest.",
        line.samples_in_a_point());
  return {.title = fmt::format("Steps of {}, {}", subject_of(*charted.run), name),
          .caption = fmt::format("{} {}.", caption, basis_of({&charted, 1})),
          .x = {.title = "time measured [s]"},
          .y = {.title = "step [ms]"},
          .series = line.take_series(thing_of(charted)),
          .marks = line.take_marks()};
}

bool has_times(const ChartedRun& charted) {
  const SamplesRecord& samples = charted.run->samples;
  return !samples.step_seconds.empty() ||
         std::ranges::any_of(samples.slices, [](const SliceRecord& slice) {
           return slice.count > 0 && slice.median_seconds;
         });
}

/// The fastest of each strategy, and kMostStepCharts at most.
std::vector<ChartedRun> fastest_of_each(std::span<const ChartedRun> runs) {
  std::vector<ChartedRun> fastest;
  for (const std::vector<ChartedRun>& group : grouped(runs, [](const ChartedRun& run) {
         return run.run->strategy.name + '/' + subject_of(*run.run);
       })) {
    if (fastest.size() == kMostStepCharts) break;
    fastest.push_back(*std::ranges::max_element(
        group, {}, [](const ChartedRun& run) { return *run.run->throughput.value; }));
  }
  return fastest;
}

}  // namespace

std::vector<Chart> step_time_charts(const ChartSource& source) {
  std::vector<ChartedRun> runs = measured_runs(source);
  std::erase_if(runs, [](const ChartedRun& run) { return !has_times(run); });
  if (runs.size() > kMostStepCharts) runs = fastest_of_each(runs);
  std::vector<Traits> traits;
  traits.reserve(runs.size());
  for (const ChartedRun& run : runs) traits.push_back(traits_of(run, Along::nothing));
  const std::vector<std::string> names = names_of(traits);
  std::vector<Chart> charts;
  for (std::size_t at = 0; at < runs.size(); ++at)
    charts.push_back(step_chart(runs[at], names[at]));
  return charts;
}

}  // namespace ptbench

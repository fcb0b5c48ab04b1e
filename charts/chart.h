#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

// A chart as data: what is drawn, not how. gnuplot and the page draw the same one.

enum class AxisScale { linear, log2, log10 };

/// How the numbers along an axis are written.
enum class AxisNumbers {
  real,
  whole,  ///< nothing lies between whole numbers: ranks
  bytes,  ///< "64 KiB"
};

struct Axis {
  std::string title;  ///< with its unit, for instance "step [ms]"
  AxisScale scale = AxisScale::linear;
  /// Names of the places 0, 1, … along an axis of categories; empty: the axis is of numbers.
  std::vector<std::string> categories;
  std::optional<double> low;   ///< where the axis begins; empty: as the values ask for
  std::optional<double> high;  ///< where the axis ends; empty: as the values ask for
  AxisNumbers numbers = AxisNumbers::real;
};

struct Point {
  double x = 0;                      ///< a number, or a place among the categories
  double y = 0;                      ///< finite
  std::optional<Interval> interval;  ///< of y
  std::string note;                  ///< what else a reader should know of this value; may be empty
  bool trusted = true;               ///< false: one may not rely on it (`reliability_of`)
};

enum class SeriesStyle {
  line,    ///< points joined by a line, with their intervals
  points,  ///< points alone, with their intervals
  /// Bars from 0 to the points, with their intervals; those of all series at one x stand beside
  /// each other. The axis has room for the places with bars alone, however far they are apart.
  bars,
  ideal,      ///< a thin dashed line without points: what would be reached without any loss
  reference,  ///< a thin line without points, or a single one: what others are held against
  /// A part of a bar; the parts of all series at one x add up, those below 0 from 0 downwards.
  stacked,
};

/// The mark of points: its look's, or what it tells besides, the same on all charts.
enum class PointShape {
  own,     ///< of the look; hollow where a point is not trusted
  hollow,  ///< of the look, as of what is not trusted
  plus,
  cross,
};

struct Series {
  std::string name;
  SeriesStyle style = SeriesStyle::line;
  std::vector<Point> points;  ///< in the order of x
  /// What it shows, for instance a strategy with its options: series of one thing have one colour
  /// and one mark on all charts. Empty: its name says it.
  std::string thing;
  std::size_t look = 0;     ///< which colour and mark: see `give_looks`
  std::size_t variant = 0;  ///< number among the series of one thing in a chart, told by dashes
  PointShape shape = PointShape::own;
};

/// Something begins at that x, for instance a repetition: a thin upright line.
struct Mark {
  double x = 0;
  std::string text;
};

/// Texts are as records have them: whoever draws escapes them.
struct Chart {
  std::string name;     ///< of its row in the catalog, with "-2", … where it makes several
  std::string title;    ///< what is shown, for instance "Speedup of mlp, weak scaling"
  std::string caption;  ///< one sentence on how to read it, and what it rests on
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Mark> marks;  ///< in the order of x
  double level = 0.95;      ///< of all intervals
};

}  // namespace ptbench

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

// A chart as data: what is drawn, not how. gnuplot and the page draw the same one.

// g++ calls members that a designated initialisation leaves out forgotten, unless they have one.
// NOLINTBEGIN(readability-redundant-member-init)

enum class AxisScale { linear, log2, log10 };

/// How the numbers along an axis are written.
enum class AxisNumbers {
  real,
  whole,  ///< nothing lies between whole numbers: ranks
  bytes,  ///< "64 KiB"
};

struct Axis {
  std::string title{};  ///< with its unit, for instance "step [ms]"
  AxisScale scale = AxisScale::linear;
  /// Names of the places 0, 1, … along an axis of categories; empty: the axis is of numbers.
  std::vector<std::string> categories{};
  std::optional<double> low{};   ///< where the axis begins; empty: as the values ask for
  std::optional<double> high{};  ///< where the axis ends; empty: as the values ask for
  AxisNumbers numbers = AxisNumbers::real;
};

struct Point {
  double x = 0;                        ///< a number, or a place among the categories
  double y = 0;                        ///< finite
  std::optional<Interval> interval{};  ///< of y
  std::string note{};   ///< what else a reader should know of this value; may be empty
  bool trusted = true;  ///< false: one may not rely on it (`reliability_of`)
};

enum class SeriesStyle {
  line,       ///< points joined by a line, with their intervals
  points,     ///< points alone, with their intervals
  ideal,      ///< a thin dashed line without points: what would be reached without any loss
  reference,  ///< a thin line without points: what the others are held against
  /// A part of a bar; the parts of all series at one x add up, those below 0 from 0 downwards.
  stacked,
};

struct Series {
  std::string name{};
  SeriesStyle style = SeriesStyle::line;
  std::vector<Point> points{};  ///< in the order of x
};

/// Something begins at that x, for instance a repetition: a thin upright line.
struct Mark {
  double x = 0;
  std::string text{};
};

/// Texts are as records have them: whoever draws escapes them.
struct Chart {
  std::string name{};     ///< of its row in the catalog, with "-2", … where it makes several
  std::string title{};    ///< what is shown, for instance "Speedup of mlp, weak scaling"
  std::string caption{};  ///< one sentence on how to read it, and what it rests on
  Axis x{};
  Axis y{};
  std::vector<Series> series{};
  std::vector<Mark> marks{};  ///< in the order of x
};

// NOLINTEND(readability-redundant-member-init)

}  // namespace ptbench

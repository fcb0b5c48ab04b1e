#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "page/html.h"
#include "page/sections.h"
#include "reports/field_text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

/// More rows are told by the result file.
constexpr std::size_t kMostTableRows = 60;

std::string_view name_of(AxisScale scale) {
  switch (scale) {
    case AxisScale::linear: return "linear";
    case AxisScale::log2: return "log2";
    case AxisScale::log10: return "log10";
  }
  return "linear";
}

std::string_view name_of(AxisNumbers numbers) {
  switch (numbers) {
    case AxisNumbers::real: return "real";
    case AxisNumbers::whole: return "whole";
    case AxisNumbers::bytes: return "bytes";
  }
  return "real";
}

std::string_view name_of(SeriesStyle style) {
  switch (style) {
    case SeriesStyle::line: return "line";
    case SeriesStyle::points: return "points";
    case SeriesStyle::bars: return "bars";
    case SeriesStyle::ideal: return "ideal";
    case SeriesStyle::reference: return "reference";
    case SeriesStyle::stacked: return "stacked";
  }
  return "line";
}

std::string_view name_of(PointShape shape) {
  switch (shape) {
    case PointShape::own: return "own";
    case PointShape::hollow: return "hollow";
    case PointShape::plus: return "plus";
    case PointShape::cross: return "cross";
  }
  return "own";
}

Json json_of(const Axis& axis) {
  Json json{{"title", axis.title},
            {"scale", name_of(axis.scale)},
            {"numbers", name_of(axis.numbers)},
            {"categories", axis.categories}};
  if (axis.low) json["low"] = *axis.low;
  if (axis.high) json["high"] = *axis.high;
  return json;
}

/// Six digits are more than any eye sees, and short.
double rounded(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// [x, y, low, high, trusted, note], without what is at its usual value at the end.
Json json_of(const Point& point) {
  Json json = Json::array({point.x, rounded(point.y)});
  if (!point.interval && point.trusted && point.note.empty()) return json;
  json.push_back(point.interval ? Json(rounded(point.interval->low)) : Json());
  json.push_back(point.interval ? Json(rounded(point.interval->high)) : Json());
  if (point.trusted && point.note.empty()) return json;
  json.push_back(point.trusted ? 1 : 0);
  if (!point.note.empty()) json.push_back(point.note);
  return json;
}

Json json_of(const Chart& chart) {
  Json json{{"title", chart.title}, {"x", json_of(chart.x)}, {"y", json_of(chart.y)}};
  if (chart.level != Chart{}.level) json["level"] = chart.level;
  Json& all = json["series"] = Json::array();
  for (const Series& series : chart.series) {
    Json points = Json::array();
    for (const Point& point : series.points) points.push_back(json_of(point));
    all.push_back({{"name", series.name},
                   {"style", name_of(series.style)},
                   {"look", series.look},
                   {"points", points}});
    if (series.variant > 0) all.back()["variant"] = series.variant;
    if (series.shape != PointShape::own) all.back()["shape"] = name_of(series.shape);
  }
  Json& marks = json["marks"] = Json::array();
  for (const Mark& mark : chart.marks) marks.push_back(Json::array({mark.x, mark.text}));
  return json;
}

bool has_doubt(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) {
    return std::ranges::any_of(series.points, [](const Point& point) { return !point.trusted; });
  });
}

std::string figure(double value) { return fmt::format("{:.4g}", value); }

HtmlCell place_of(const Axis& axis, double x) {
  const bool is_category = x >= 0 && x < static_cast<double>(axis.categories.size());
  return {.text = is_category ? axis.categories[static_cast<std::size_t>(x)] : figure(x),
          .sort = number_text(x)};
}

std::string note_of(const Point& point) {
  if (point.trusted) return point.note;
  return "not reliable" + (point.note.empty() ? "" : "; " + point.note);
}

std::vector<HtmlCell> row_of(const Chart& chart, const Series& series, const Point& point) {
  return {
      {.text = series.name},
      place_of(chart.x, point.x),
      {.text = figure(point.y), .sort = number_text(point.y), .mark = point.trusted ? "" : "doubt"},
      {.text = point.interval ? fmt::format("{} to {}", figure(point.interval->low),
                                            figure(point.interval->high))
                              : ""},
      {.text = note_of(point)}};
}

/// What the chart shows, for those who do not see it.
std::string values_of(const Chart& chart) {
  HtmlTable table{.caption = chart.title,
                  .columns = {{.heading = "series"},
                              {.heading = chart.x.title.empty() ? "at" : chart.x.title},
                              {.heading = chart.y.title, .is_number = true},
                              {.heading = fmt::format("{:.5g} % interval", 100 * chart.level),
                               .is_number = true},
                              {.heading = "note", .is_long = true}}};
  std::size_t points = 0;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (++points <= kMostTableRows) table.rows.push_back(row_of(chart, series, point));
  if (points > kMostTableRows)
    table.caption += fmt::format(" (the first {} of {} values; the result file has all)",
                                 kMostTableRows, points);
  return html_table(table);
}

std::string figure_html(const PageChart& drawn, std::size_t number) {
  const Chart& chart = drawn.chart;
  const std::string title = html_text(chart.title);
  std::string caption = chart.caption;
  if (has_doubt(chart))
    caption += (caption.empty() ? "" : " ") + std::string("Hollow marks are not reliable.");
  std::string html = fmt::format(
      "<figure class=\"chart\" id=\"chart-{}\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n"
      "<div class=\"drawing\">",
      number, title, html_text(caption));
  html +=
      drawn.svg.empty()
          ? "<p class=\"static\">There is no drawing of this chart: its values are in the "
            "table.</p>"
          : fmt::format(
                "<img class=\"static\" loading=\"lazy\" decoding=\"async\" alt=\"{}\" src=\"{}\">",
                html_text("Chart: " + chart.title + ". " + caption), svg_url(drawn.svg));
  return html + fmt::format(
                    "</div>\n<details><summary>The values of “{}” as a table</summary>\n{}"
                    "</details>\n</figure>\n",
                    title, values_of(chart));
}

}  // namespace

std::string chart_section(std::span<const PageChart> charts) {
  if (charts.empty()) return {};
  std::string html;
  Json data = Json::array();
  for (std::size_t at = 0; at < charts.size(); ++at) {
    html += figure_html(charts[at], at + 1);
    data.push_back(json_of(charts[at].chart));
  }
  html += fmt::format("<script type=\"application/json\" id=\"chart-data\">{}</script>\n",
                      script_json(data));
  return html_section("charts", "Charts", html);
}

}  // namespace ptbench

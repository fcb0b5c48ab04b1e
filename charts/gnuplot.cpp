#include "charts/gnuplot.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

#include "charts/gnuplot_axes.h"
#include "charts/gnuplot_plot.h"
#include "charts/gnuplot_style.h"
#include "charts/gnuplot_text.h"
#include "reports/wrap.h"
#include "reports/xml_text.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::size_t kLongestTitle = 80;  // letters
constexpr std::size_t kCaptionColumns = 135;
constexpr std::size_t kLongestCaption = 370;  // three lines
constexpr std::size_t kLongestId = 40;
constexpr std::size_t kMostMarkTexts = 12;
// Heights as shares of the picture.
constexpr double kTitleHeight = 0.955;
constexpr double kCaptionHeight = 0.905;
constexpr double kLineHeight = 0.032;

/// For the ids in an SVG: letters, digits and underscores.
std::string id_of(const Chart& chart) {
  std::string id = "ptbench_";
  for (const char letter : chart.name.substr(0, kLongestId)) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    id += is_plain ? letter : '_';
  }
  return id;
}

std::string terminal_command(const Chart& chart, const Drawing& drawing) {
  const std::string_view ground = colours_of(drawing.theme).ground;
  switch (drawing.format) {
    case DrawingFormat::svg:
      return fmt::format(
          "set terminal svg noenhanced size 960,600 font 'sans-serif,13' name '{}' "
          "background '{}'\n",
          id_of(chart), ground);
    case DrawingFormat::png:
      return fmt::format(
          "set terminal pngcairo noenhanced size 1920,1200 font 'sans-serif,10' "
          "fontscale 2 linewidth 2 pointscale 2 background '{}'\n",
          ground);
    case DrawingFormat::pdf:
      return fmt::format(
          "set terminal pdfcairo noenhanced size 9.6in,6in font 'sans-serif,10' "
          "background '{}'\n",
          ground);
  }
  throw Defect("a format that nobody draws");
}

std::string output_command(const std::string& file) {
  return fmt::format("set output {}\n", gnuplot_quoted(file));
}

std::string colour_commands(ChartTheme theme) {
  const ChartColours& colours = colours_of(theme);
  return fmt::format(
      "set border 3 lc rgb '{text}' lw 1\n"
      "set tics nomirror out scale 0.6 textcolor rgb '{text}'\n"
      "set grid ytics lc rgb '{grid}' lt 1 lw 0.8\n"
      "set xlabel textcolor rgb '{text}'\nset ylabel textcolor rgb '{text}'\n"
      "set key outside right top vertical Left reverse samplen 2.5 spacing 1.25 "
      "textcolor rgb '{text}'\n",
      fmt::arg("text", colours.text), fmt::arg("grid", colours.grid));
}

/// A line of text at the left, above the plot.
std::string text_line(std::string_view text, double height, std::string_view colour,
                      std::string_view font) {
  return fmt::format("set label {} at screen 0.02,{} left font '{}' textcolor rgb '{}'\n",
                     gnuplot_quoted(text), height, font, colour);
}

std::string heading(const Chart& chart, const Drawing& drawing) {
  if (!drawing.with_heading) return "set tmargin at screen 0.97\n";
  const ChartColours& colours = colours_of(drawing.theme);
  const bool is_svg = drawing.format == DrawingFormat::svg;
  std::string text = text_line(shortened(chart.title, kLongestTitle), kTitleHeight, colours.text,
                               is_svg ? "sans-serif,18" : "sans-serif,14");
  double height = kCaptionHeight;
  std::istringstream lines(wrapped(shortened(chart.caption, kLongestCaption), 0, kCaptionColumns));
  for (std::string line; std::getline(lines, line); height -= kLineHeight)
    text += text_line(line, height, colours.faint, is_svg ? "sans-serif,12" : "sans-serif,9");
  return text + fmt::format("set tmargin at screen {}\n", height - kLineHeight / 2);
}

std::string mark_commands(const Chart& chart, ChartTheme theme) {
  const ChartColours& colours = colours_of(theme);
  std::string text;
  for (const Mark& mark : chart.marks) {
    text += fmt::format(
        "set arrow from first {0}, graph 0 to first {0}, graph 1 nohead back lw 0.8 dt 3 lc rgb "
        "'{1}'\n",
        mark.x, colours.faint);
    if (chart.marks.size() <= kMostMarkTexts)
      text += fmt::format(
          "set label {} at first {}, graph 0.99 right rotate by 90 offset "
          "character 0.7,0 textcolor rgb '{}'\n",
          gnuplot_quoted(shortened(mark.text, 24)), mark.x, colours.faint);
  }
  return text;
}

}  // namespace

std::string gnuplot_script(std::span<const Chart> charts, std::span<const std::string> files,
                           const Drawing& drawing) {
  const bool has_pages = drawing.format == DrawingFormat::pdf;
  ensure(files.size() == (has_pages ? 1 : charts.size()), "charts without a file to be drawn into");
  std::string script = "set encoding utf8\n";
  for (std::size_t at = 0; at < charts.size(); ++at) {
    const Chart& chart = charts[at];
    if (!has_pages || at == 0)
      script += terminal_command(chart, drawing) + output_command(files[at]);
    script += "reset\n" + colour_commands(drawing.theme) + heading(chart, drawing) +
              gnuplot_axes(chart) + mark_commands(chart, drawing.theme) +
              gnuplot_plot(chart, drawing.theme);
  }
  return script + "set output\n";
}

std::string titled_svg(std::string svg, const Chart& chart) {
  const auto replace = [&svg](std::string_view element, const std::string& text) {
    const std::string begin = fmt::format("<{}>", element);
    const std::size_t from = svg.find(begin);
    const std::size_t end = svg.find(fmt::format("</{}>", element), from);
    if (from == std::string::npos || end == std::string::npos) return;
    const std::size_t inside = from + begin.size();
    svg.replace(inside, end - inside, xml_text(text));
  };
  replace("title", chart.title);
  replace("desc", chart.caption);
  return svg;
}

}  // namespace ptbench

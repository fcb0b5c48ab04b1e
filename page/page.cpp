#include "page/page.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

#include "charts/chart_colours.h"
#include "page/html.h"
#include "page/page_files.h"
#include "page/sections.h"
#include "reports/comparison_parts.h"
#include "reports/conclusion.h"
#include "src/base/hash.h"

namespace ptbench {
namespace {

/// "mlp, resnet18 and 3 more".
std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t kMostNames = 3;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kMostNames) break;
    text += (text.empty() ? "" : ", ") + name;
  }
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

/// "slower: mlp/ddp/n2/b64/fp32", "12 same, 1 slower".
std::string verdict_of(const Comparison& comparison) {
  if (comparison.runs.size() != 1) return counts_text(comparison);
  const RunComparison& run = comparison.runs.front();
  return fmt::format("{}: {}", name_of(run.verdict), run.id);
}

/// What the browser calls the page.
std::string title_of(const PageContent& content) {
  if (content.comparison != nullptr && !content.comparison->runs.empty())
    return verdict_of(*content.comparison) + " (ptbench)";
  std::set<std::string> workloads;
  for (const ResultFile& file : content.files)
    for (const RunRecord& run : file.runs) workloads.insert(run.workload.name);
  std::string title = "ptbench";
  if (!workloads.empty()) title += ": " + listed(workloads);
  return title;
}

/// What stands above the page.
std::string heading_of(const PageContent& content) {
  if (content.comparison == nullptr) return title_of(content);
  const std::string conclusion = conclusion_of(*content.comparison);
  return conclusion.empty() ? "Nothing was compared." : conclusion;
}

/// Where and when, in a line.
std::string origin_of(const PageContent& content) {
  if (content.files.empty()) return {};
  std::set<std::string> hosts;
  for (const ResultFile& file : content.files) hosts.insert(file.environment.host.name);
  const ResultFile& last = content.files.back();
  std::string text = "Measured on " + listed(hosts);
  if (hosts.size() == 1) {
    if (last.environment.cpu.model) text += ", " + *last.environment.cpu.model;
    if (last.environment.cpu.cores)
      text += fmt::format(", {} core{}", *last.environment.cpu.cores,
                          *last.environment.cpu.cores == 1 ? "" : "s");
  }
  if (content.files.size() > 1 && content.sides.empty())
    text += fmt::format(" ({} files)", content.files.size());
  if (!last.created.empty()) text += ", " + last.created;
  return text;
}

struct Link {
  std::string_view id;
  std::string_view text;
};

constexpr std::array kLinks{Link{"verdicts", "Verdicts"},
                            Link{"answer", "Answer"},
                            Link{"losses", "Why not better"},
                            Link{"charts", "Charts"},
                            Link{"runs", "Runs"},
                            Link{"troubles", "Failures"},
                            Link{"warnings", "Warnings"},
                            Link{"verification", "Verification"},
                            Link{"environment", "Environment"},
                            Link{"command", "Command"}};

std::string navigation_to(const std::string& sections) {
  std::string html = "<nav aria-label=\"Sections\"><ul>\n";
  for (const Link& link : kLinks)
    if (sections.find(fmt::format("<section id=\"{}\"", link.id)) != std::string::npos)
      html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", link.id, link.text);
  return html + "</ul></nav>\n";
}

std::string remarks_of(const PageContent& content) {
  std::string html;
  for (const std::string& remark : content.remarks)
    html += fmt::format("<p class=\"remark\">{}</p>\n", html_text(remark));
  return html;
}

std::string sections_of(const PageContent& content) {
  std::string html;
  if (content.comparison != nullptr)
    html += verdict_section(*content.comparison) + side_section(*content.comparison);
  else
    html += answer_section(content.files) + loss_notes(content.files);
  html += chart_section(content.charts);
  html += run_section(content.files, content.sides);
  html += trouble_notes(content.files, content.sides);
  html += warning_notes(content.files, content.sides);
  html += verification_notes(content.files);
  html += environment_section(content.files, content.sides);
  html += command_section(content.files);
  return html.empty() ? "<p class=\"lead\">These files contain nothing to show.</p>\n" : html;
}

/// An element with a text that HTML does not read: nothing in it may look like its end.
std::string raw_element(std::string_view name, std::string_view nonce, std::string_view text) {
  return fmt::format("<{0} nonce=\"{1}\">\n{2}\n</{0}>\n", name, nonce, text);
}

/// What a script finds as --series-1 … and --part-1 ….
std::string colours_css(ChartTheme theme) {
  const ChartColours& colours = colours_of(theme);
  std::string css = ":root {";
  const auto add = [&](std::string_view name, std::span<const std::string_view> all) {
    for (std::size_t at = 0; at < all.size(); ++at)
      css += fmt::format(" --{}-{}: {};", name, at + 1, all[at]);
  };
  add("series", colours.series);
  add("part", colours.parts);
  return css + " }";
}

std::string style_of(std::string_view nonce) {
  return raw_element(
      "style", nonce,
      fmt::format("{}{}\n@media screen and (prefers-color-scheme: dark) {{\n{}\n}}", kPageStyle,
                  colours_css(ChartTheme::light), colours_css(ChartTheme::dark)));
}

std::string scripts_of(const PageContent& content, std::string_view nonce) {
  std::string html = raw_element("script", nonce, kTableScript);
  if (content.library.empty() || content.charts.empty()) return html;
  return html + raw_element("script", nonce, content.library) +
         raw_element("script", nonce, kChartScript);
}

}  // namespace

std::string page_html(const PageContent& content) {
  const std::string sections = sections_of(content);
  // What was not written by ptbench has no way to know it, so that no browser runs it.
  const std::string nonce = fmt::format("{:016x}", fnv1a(sections));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'nonce-{0}'; script-src 'nonce-{0}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{1}</title>\n",
      nonce, html_text(title_of(content)));
  html += style_of(nonce) + "</head>\n<body>\n";
  html += "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n";
  html += fmt::format("<h1>{}</h1>\n<p>{}</p>\n", html_text(heading_of(content)),
                      html_text(origin_of(content)));
  html += navigation_to(sections) + "</header>\n<main id=\"content\">\n";
  html += sections + remarks_of(content) + "</main>\n";
  html +=
      "<footer><p>Made by ptbench. Intervals are 95 % intervals across repetitions, each a fresh "
      "process, unless said otherwise.</p></footer>\n";
  return html + scripts_of(content, nonce) + "</body>\n</html>\n";
}

}  // namespace ptbench

#include <fmt/format.h>

#include <algorithm>

#include "page/answer.h"
#include "page/html.h"
#include "page/sections.h"
#include "reports/conclusion.h"

namespace ptbench {
namespace {

/// Of large grids the first screens tell the first workloads; the table tells all.
constexpr std::size_t kMostAnswers = 12;
constexpr std::size_t kMostConclusions = 3;

std::string answer_html(const Answer& answer, bool is_only) {
  std::string html = "<div class=\"answer\">\n";
  if (!is_only)
    html += fmt::format("<h3>{} on {}</h3>\n", html_text(answer.workload), html_text(answer.host));
  html += fmt::format("<p class=\"lead{}\">{}</p>\n", answer.is_reliable ? "" : " doubt",
                      html_text(answer.sentence));
  if (!answer.beside.empty()) html += fmt::format("<p>{}</p>\n", html_text(answer.beside));
  html += "<dl class=\"facts\">\n";
  html += html_fact({"Fastest", answer.fastest, answer.speed, answer.fastest.empty()});
  html += html_fact({"Scaling efficiency", answer.efficiency, answer.efficiency_of,
                     answer.efficiency.empty() || !answer.is_efficiency_told});
  html += html_fact({"Largest loss", answer.loss, answer.loss_advice, answer.loss.empty()});
  html += html_fact(
      {"How far to trust it", answer.reliability, answer.reliability_note, !answer.is_reliable});
  return html + "</dl>\n</div>\n";
}

/// What stands in backticks as code.
std::string with_code(const std::string& text) {
  std::string html;
  bool is_code = false;
  for (const char letter : html_text(text)) {
    if (letter != '`') {
      html += letter;
      continue;
    }
    html += is_code ? "</code>" : "<code>";
    is_code = !is_code;
  }
  return is_code ? html_text(text) : html;
}

std::string conclusions(std::span<const ResultFile> files) {
  std::string html;
  std::size_t said = 0;
  for (const ResultFile& file : files) {
    const std::string text = conclusion_of(file);
    if (text.empty() || said++ >= kMostConclusions) continue;
    html += fmt::format("<p class=\"said\">{}</p>\n", with_code(text));
  }
  return html;
}

}  // namespace

std::string answer_section(std::span<const ResultFile> files) {
  const std::vector<Answer> answers = answers_of(files);
  if (answers.empty())
    return html_section("answer", "The answer",
                        files.empty() ? "" : "<p class=\"lead\">No run was measured.</p>\n");
  std::string html;
  for (const Answer& answer : std::span(answers).first(std::min(answers.size(), kMostAnswers)))
    html += answer_html(answer, answers.size() == 1);
  if (answers.size() > kMostAnswers)
    html += fmt::format("<p>{} more workloads are in the table of runs.</p>\n",
                        answers.size() - kMostAnswers);
  return html_section("answer", "The answer", html + conclusions(files));
}

}  // namespace ptbench

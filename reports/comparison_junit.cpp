#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "reports/comparison_parts.h"
#include "reports/comparison_text.h"
#include "reports/field_text.h"
#include "reports/xml_text.h"

namespace ptbench {
namespace {

/// What a reader of the report needs to know of a run that did not stay the same.
std::string message_of(const RunComparison& run) {
  std::string message(name_of(run.verdict));
  if (shown_change(run))
    message += fmt::format(": {} -> {}, {}{}", base_text(run), new_text(run), change_text(run),
                           bracketed_interval(run));
  if (!run.reason.empty()) message += ": " + run.reason;
  if (const std::vector<std::string> texts = distinctions(run); !texts.empty())
    message += fmt::format("; differs: {}", fmt::join(texts, "; "));
  if (run.decided_by)
    message += fmt::format("; decided by the {} of the history", name_of(*run.decided_by));
  if (run.left_out) message += "; " + left_out_text(run.left_out);
  return xml_text(message);
}

std::string outcome_of(const RunComparison& run) {
  if (is_regression(run.verdict))
    return fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n", name_of(run.verdict),
                       message_of(run));
  if (is_undecided(run.verdict))
    return fmt::format("      <skipped message=\"{}\"/>\n", message_of(run));
  return fmt::format("      <system-out>{}</system-out>\n", message_of(run));
}

std::string test_case_of(const RunComparison& run) {
  const double seconds = run.new_seconds.value_or(0);
  return fmt::format(
      "    <testcase classname=\"ptbench.compare\" name=\"{}\" time=\"{}\">\n{}    </testcase>\n",
      xml_text(run.id), fmt::format("{:.9f}", std::isfinite(seconds) ? seconds : 0),
      outcome_of(run));
}

std::string attributes_of(const Comparison& comparison) {
  const auto count = [&](bool (*holds)(Verdict)) {
    return std::ranges::count_if(comparison.runs, holds, &RunComparison::verdict);
  };
  return fmt::format(R"(name="ptbench compare" tests="{}" failures="{}" errors="0" skipped="{}")",
                     comparison.runs.size(), count(is_regression), count(is_undecided));
}

std::string properties_of(const Comparison& comparison) {
  const auto property = [](std::string_view name, std::string_view value) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_text(value));
  };
  std::string text = property("detect", number_text(comparison.detect));
  if (comparison.tested > 0)
    text += property("expected_false_alarms", number_text(comparison.expected_false_alarms));
  for (const std::string& difference : distinctions(comparison))
    text += property("difference", difference);
  if (!comparison.differences.empty())
    text += property("environment", environment_meaning(comparison));
  if (comparison.left_out) text += property("history", left_out_text(comparison.left_out));
  if (const std::string unjudged = unjudged_text(comparison); !unjudged.empty())
    text += property("unjudged", unjudged);
  return "    <properties>\n" + text + "    </properties>\n";
}

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  const std::string attributes = attributes_of(comparison);
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {}>\n",
                  attributes, attributes);
  text += properties_of(comparison);
  for (const RunComparison& run : comparison.runs) text += test_case_of(run);
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace ptbench

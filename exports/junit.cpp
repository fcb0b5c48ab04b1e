#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "exports/formats.h"
#include "reports/xml_text.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

/// What a reader of the report sees of a run that was measured.
std::string figures_of(const RunRecord& run) {
  std::string text = format_duration(*run.step_seconds.median) + " a step";
  if (const auto throughput = finite(run.throughput.value))
    text = format_si(*throughput) + " samples/s, " + text;
  if (const std::string clean = clean_repetitions_text(run.samples, kAreClean); !clean.empty())
    text += ", " + clean;
  for (const std::string& remark : remarks_of(run)) text += ", " + remark;
  return text;
}

std::string body_of(const RunRecord& run) {
  switch (outcome_of(run)) {
    case Outcome::measured:
      return fmt::format("      <system-out>{}</system-out>\n", xml_text(figures_of(run)));
    case Outcome::skipped:
      return fmt::format("      <skipped message=\"{}\"/>\n", xml_text(reason_of(run)));
    case Outcome::failed: break;
  }
  const bool differs = run.verification.status == VerificationStatus::failed;
  return fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n",
                     differs ? "verification" : "failed", xml_text(reason_of(run)));
}

/// `time` is that of a step: the one duration that a run stands for.
std::string test_case_of(const RunRecord& run) {
  const bool measured = outcome_of(run) == Outcome::measured;
  return fmt::format(
      "    <testcase classname=\"ptbench.{}\" name=\"{}\" time=\"{:.9f}\">\n{}    </testcase>\n",
      xml_text(run.workload.name), xml_text(run.id), measured ? *run.step_seconds.median : 0.0,
      body_of(run));
}

std::string properties_of(const ResultFile& result) {
  std::string text;
  const auto property = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_text(value));
  };
  property("host", result.environment.host.name);
  property("cpu", result.environment.cpu.model.value_or(""));
  property("build", build_text(result.generator));
  property("created", result.created);
  return text.empty() ? text : "    <properties>\n" + text + "    </properties>\n";
}

std::ptrdiff_t count_of(const ResultFile& result, Outcome outcome) {
  return std::ranges::count(result.runs, outcome, outcome_of);
}

std::string suite_of(const NamedResult& named) {
  const ResultFile& result = named.result;
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
      xml_text(named.file), result.runs.size(), count_of(result, Outcome::failed),
      count_of(result, Outcome::skipped));
  text += properties_of(result);
  for (const RunRecord& run : result.runs) text += test_case_of(run);
  return text + "  </testsuite>\n";
}

}  // namespace

std::string junit_export(std::span<const NamedResult> results) {
  std::size_t tests = 0;
  std::ptrdiff_t failures = 0;
  std::ptrdiff_t skipped = 0;
  std::string suites;
  for (const NamedResult& named : results) {
    tests += named.result.runs.size();
    failures += count_of(named.result, Outcome::failed);
    skipped += count_of(named.result, Outcome::skipped);
    suites += suite_of(named);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ptbench\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}</testsuites>\n",
      tests, failures, skipped, suites);
}

}  // namespace ptbench

#include <fmt/format.h>

#include <vector>

#include "exports/formats.h"
#include "reports/markdown_text.h"
#include "reports/scaling_text.h"
#include "src/base/units.h"
#include "src/measure/interval_text.h"

namespace ptbench {
namespace {

/// "11.8 k ± 5.1 %".
std::string throughput_text(const RunRecord& run) {
  const auto value = finite(run.throughput.value);
  return value ? rate_with_interval(*value, finite(run.throughput.ci95)) : std::string();
}

/// "1.43"; "0.78 (all 5 rounds)" where the throughput is of others.
std::string known_speedup_text(const ResultFile& result, const RunRecord& run) {
  const auto speedup = run.scaling ? finite(run.scaling->speedup) : std::nullopt;
  if (!speedup) return {};
  const std::string rounds = rounds_text(run, find_run(result, run.scaling->baseline));
  return speedup_text(run) + (rounds.empty() ? "" : fmt::format(" ({})", rounds));
}

/// "71.7 ± 1.2 %".
std::string known_efficiency_text(const RunRecord& run) {
  const bool is_known = run.scaling && finite(run.scaling->efficiency);
  return is_known ? efficiency_text(run) : std::string();
}

std::string verified_text(const RunRecord& run) {
  const VerificationStatus status = run.verification.status;
  return status == VerificationStatus::not_run ? std::string() : std::string(name_of(status));
}

std::string row_of(const ResultFile& result, const RunRecord& run) {
  const bool measured = outcome_of(run) == Outcome::measured;
  std::vector<std::string> cells(5);
  std::string remarks;
  if (measured) {
    cells = {throughput_text(run), format_duration(*run.step_seconds.median),
             clean_repetitions_text(run.samples), known_speedup_text(result, run),
             known_efficiency_text(run)};
    remarks = fmt::format("{}", fmt::join(remarks_of(run), ", "));
  } else {
    remarks = reason_of(run);
  }
  std::string row = "| " + markdown_code(run.id) + " |";
  for (const std::string& cell : cells) row += fmt::format(" {} |", cell.empty() ? "-" : cell);
  const std::string status =
      measured ? markdown_escaped(remarks) : "**" + markdown_escaped(remarks) + "**";
  return row + fmt::format(" {} | {} |\n", verified_text(run), status);
}

std::string table_of(const ResultFile& result) {
  std::string text = fmt::format("### {} on {}\n\n", markdown_escaped(build_text(result.generator)),
                                 markdown_escaped(machine_text(result.environment)));
  if (!result.created.empty()) text += markdown_escaped(result.created) + "\n\n";
  text +=
      "| run | samples/s | step | clean repetitions | speedup | efficiency | verified | remarks |\n"
      "|---|--:|--:|--:|--:|--:|---|---|\n";
  for (const RunRecord& run : result.runs) text += row_of(result, run);
  return text;
}

}  // namespace

std::string markdown_export(std::span<const NamedResult> results) {
  std::string text;
  for (const NamedResult& named : results)
    text += (text.empty() ? "" : "\n") + table_of(named.result);
  return text;
}

}  // namespace ptbench

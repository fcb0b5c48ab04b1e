#include "exports/exported_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

std::string remark_on(const RepetitionRecord& repetition, bool is_unknown) {
  if (is_unknown || !repetition.clean_slices) return "not known to be clean";
  return *repetition.clean_slices > 0 ? "" : "not clean";
}

/// Steps in the slices of the repetition of that number; empty where it has none.
std::optional<Size> steps_of(const SamplesRecord& samples, Size number) {
  constexpr double kMost = 1e15;  // files may be anybody's
  double steps = 0;
  for (const SliceRecord& slice : samples.slices)
    if (slice.repetition == number)
      steps += static_cast<double>(slice.count) *
               static_cast<double>(samples.steps_per_sample.value_or(1));
  if (steps < 1 || steps > kMost) return std::nullopt;
  return static_cast<Size>(steps);
}

void append(std::string& text, std::string_view separator, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text += separator;
  text += more;
}

}  // namespace

Outcome outcome_of(const RunRecord& run) {
  if (run.status == Status::failed || run.verification.status == VerificationStatus::failed)
    return Outcome::failed;
  return ended_well(run.status) && is_positive(run.step_seconds.median) ? Outcome::measured
                                                                        : Outcome::skipped;
}

std::string reason_of(const RunRecord& run) {
  const bool failed_quietly = run.status != Status::failed && outcome_of(run) == Outcome::failed;
  if (failed_quietly)
    return "failed: " + single_line(run.verification.reason.value_or("verification failed"));
  const std::string status(run.status == Status::ok ? "not measured" : name_of(run.status));
  return run.reason ? fmt::format("{}: {}", status, single_line(*run.reason)) : status;
}

std::vector<std::string> remarks_of(const RunRecord& run) {
  std::vector<std::string> remarks;
  if (run.status == Status::interrupted) remarks.emplace_back("interrupted");
  if (const auto slowdown = finite(run.samples.slowdown); slowdown.value_or(0) > 0)
    remarks.push_back("slowed down on purpose by " + format_percent(*slowdown));
  for (const WarningRecord& warning : run.warnings) remarks.push_back(single_line(warning.code));
  return remarks;
}

std::optional<double> finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Interval> finite(const std::optional<Interval>& interval) {
  if (!interval || !std::isfinite(interval->low) || !std::isfinite(interval->high)) return {};
  return interval;
}

std::vector<RepetitionStep> repetition_steps(const RunRecord& run) {
  std::vector<RepetitionStep> steps;
  const std::vector<bool> unknown = are_unknown(run.samples);
  for (Size number = 0; const RepetitionRecord& repetition : run.samples.repetitions) {
    if (is_positive(repetition.median_seconds))
      steps.push_back(
          {.number = number,
           .seconds = *repetition.median_seconds,
           .steps = steps_of(run.samples, number),
           .remark = remark_on(repetition, unknown.at(static_cast<std::size_t>(number)))});
    ++number;
  }
  if (steps.empty() && is_positive(run.step_seconds.median))
    steps.push_back({.number = 0, .seconds = *run.step_seconds.median, .steps = std::nullopt});
  return steps;
}

std::string clean_repetitions_text(const SamplesRecord& samples, std::string_view what) {
  if (samples.repetitions.empty()) return {};
  return fmt::format("{} of {}{}{}", count_clean(samples), samples.repetitions.size(), what,
                     unknown_text(unknown_repetitions(samples)));
}

std::string machine_text(const EnvironmentRecord& environment) {
  std::string text = single_line(environment.host.name);
  append(text, ", ", single_line(environment.cpu.model.value_or("")));
  if (const auto cores = environment.cpu.cores)
    append(text, ", ", fmt::format("{} core{}", *cores, *cores == 1 ? "" : "s"));
  return text;
}

std::string build_text(const GeneratorRecord& generator) {
  std::string text = single_line(generator.name);
  append(text, " ", single_line(generator.version));
  append(text, " ", single_line(generator.git_commit.value_or("")));
  append(text, " ", single_line(generator.build_type.value_or("")));
  return text;
}

}  // namespace ptbench

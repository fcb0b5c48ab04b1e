#include "src/judge/run_comparer.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/judge/environment_differences.h"
#include "src/judge/false_discoveries.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

Size clean_repetitions(const LogTimes& times) {
  Size count = 0;
  for (const auto& [placement, values] : times) count += std::ssize(values);
  return count;
}

std::span<const RunRecord* const> parts_of(const RunGroup* group) {
  return group == nullptr ? std::span<const RunRecord* const>() : group->parts();
}

/// "skipped in NEW: 3 ranks on 2 cores", of a run that was not measured there.
std::string why_unmeasured(std::string_view side, const RunRecord& run) {
  const bool did_end = run.status != Status::ok;
  std::string text = did_end ? fmt::format("{} in {}", name_of(run.status), side)
                             : fmt::format("{} has no samples", side);
  if (run.reason) text += ": " + single_line(*run.reason);
  return text;
}

/// "unlike environments: cpu.model A / B and 2 more".
std::string why_incomparable(std::string_view what, const std::vector<std::string>& differences) {
  const std::size_t more = differences.size() - 1;
  return fmt::format("{}: {}", what, differences.front()) +
         (more == 0 ? std::string() : fmt::format(" and {} more", more));
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Compares the runs of one pair of sides.
class RunComparer {
 public:
  /// Everything outlives the comparer.
  RunComparer(const CompareOptions& options, const std::vector<std::string>& environment,
              JudgeRun judge)
      : options_(options), environment_(environment), judge_(judge) {}

  /// Empty where there is nothing to say: measured on neither side, nor failed in NEW. One of the
  /// two may be null.
  std::optional<RunComparison> operator()(const RunGroup* base, const RunGroup* fresh) const {
    const bool of_base = base != nullptr && was_measured(base->run());
    const bool of_new = fresh != nullptr && was_measured(fresh->run());
    RunComparison result;
    result.id = (base != nullptr ? base : fresh)->run().id;
    if (of_base) describe(base->run(), result.base_seconds, result.base_repetitions);
    if (of_base) result.base_ci95 = base->run().step_seconds.ci95;
    if (of_new) describe(fresh->run(), result.new_seconds, result.new_repetitions);
    if (of_new) result.new_ci95 = fresh->run().step_seconds.ci95;
    result.remarks = run_remarks(parts_of(base), parts_of(fresh));
    if (fresh != nullptr && fresh->run().status == Status::failed) {
      result.verdict = Verdict::failed;
      result.reason = single_line(fresh->run().reason.value_or(""));
    } else if (of_base && of_new) {
      compare_measured(*base, *fresh, result);
    } else if (of_base) {
      result.verdict = Verdict::missing;
      if (fresh != nullptr) result.reason = why_unmeasured("NEW", fresh->run());
    } else if (of_new) {
      result.verdict = Verdict::added;
      if (base != nullptr) result.reason = why_unmeasured("BASE", base->run());
    } else {
      return {};
    }
    return result;
  }

 private:
  static void describe(const RunRecord& run, std::optional<double>& seconds, Size& repetitions) {
    seconds = run.step_seconds.median;
    repetitions = clean_repetitions(clean_log_times(run.samples));
  }

  void compare_measured(const RunGroup& base, const RunGroup& fresh, RunComparison& result) const {
    const std::vector<std::string> work = work_differences(base.parts(), fresh.parts());
    const std::vector<std::string> circumstances = run_differences(base.parts(), fresh.parts());
    result.differences = joined(work, circumstances);
    if (!work.empty()) {
      result.verdict = Verdict::incomparable;
      result.reason = why_incomparable("other work", work);
      return;
    }
    judge_(base, fresh, result);
    const std::vector<std::string> unlike = joined(environment_, circumstances);
    if (unlike.empty() || options_.ignore_environment) return;
    result.verdict = Verdict::incomparable;
    result.reason = why_incomparable("different environments", unlike);
  }

  const CompareOptions& options_;
  const std::vector<std::string>& environment_;  ///< differences
  JudgeRun judge_;
};

}  // namespace

Comparison compare_runs(std::span<const ResultFile> base, std::span<const ResultFile> fresh,
                        const CompareOptions& options, const PriorNoise& prior, JudgeRun judge) {
  Comparison comparison;
  comparison.detect = options.detect;
  comparison.environment_ignored = options.ignore_environment;
  comparison.differences = environment_differences(base, fresh);
  comparison.remarks = build_remarks(base, fresh);

  const RunsById base_runs(base, prior, Parts::measured);
  const RunsById new_runs(fresh, prior);
  const RunComparer compare(options, comparison.differences, judge);
  const auto add = [&](std::optional<RunComparison> run) {
    if (run) comparison.runs.push_back(std::move(*run));
  };
  for (const RunGroup& group : base_runs.groups())
    add(compare(&group, new_runs.find(group.run().id)));
  for (const RunGroup& group : new_runs.groups())
    if (base_runs.find(group.run().id) == nullptr) add(compare(nullptr, &group));
  control_false_discoveries(comparison);
  return comparison;
}

}  // namespace ptbench

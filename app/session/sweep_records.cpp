#include "app/session/sweep_records.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "src/judge/environment_differences.h"
#include "src/measure/repetition.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

/// Whether a signal may have cut its last repetition short.
bool may_be_cut(const RunRecord& record) {
  return record.status == Status::interrupted && repetitions_of(record) > 0 &&
         !record.reason.value_or("").starts_with(kAfterRounds);
}

/// Launchers bind ranks to cores of their choice, and other hosts have cores of their own.
void fail_at_other_threads(const RunRecord& known, RunRecord& measured) {
  const Size wanted = known.strategy.threads.value_or(1);
  const Size given = measured.strategy.threads.value_or(wanted);
  if (measured.status != Status::ok || !measured.strategy.launcher || given == wanted) return;
  measured.status = Status::failed;
  measured.reason = fmt::format(
      "its launcher left each rank the cores for {} threads, and rows here have {}: {}give "
      "--threads {}",
      given, wanted, given < wanted ? "let it bind to none or to enough cores, or " : "", given);
}

}  // namespace

Size repetitions_of(const RunRecord& record) { return std::ssize(record.samples.repetitions); }

std::optional<RunRecord> whole_part(RunRecord record, const PriorNoise& prior) {
  if (!ended_well(record.status)) return std::nullopt;
  if (may_be_cut(record)) {
    keep_repetitions(repetitions_of(record) - 1, record.samples);
    summarize_run(record, prior);
  }
  if (repetitions_of(record) <= 0) return std::nullopt;
  record.status = Status::ok;
  record.reason.reset();
  return record;
}

std::string change_between(const RunRecord& earlier, const RunRecord& now) {
  const std::optional<std::string>& old_plan = earlier.strategy.plan_hash;
  const std::optional<std::string>& new_plan = now.strategy.plan_hash;
  if (old_plan && new_plan && *old_plan != *new_plan)
    return fmt::format("its plan was {}, and is {} now", *old_plan, *new_plan);
  const double old_slowdown = earlier.samples.slowdown.value_or(0);
  const double new_slowdown = now.samples.slowdown.value_or(0);
  if (!now.samples.repetitions.empty() && old_slowdown != new_slowdown)
    return fmt::format("its --slowdown was {}, and is {} now", old_slowdown, new_slowdown);
  return {};
}

std::vector<std::string> differences_of(const ResultFile& earlier, const ResultFile& now) {
  std::vector<std::string> differences = environment_differences({&earlier, 1}, {&now, 1});
  const auto commit_of = [](const ResultFile& file) {
    return file.generator.git_commit.value_or("unknown");
  };
  if (commit_of(earlier) != commit_of(now))
    differences.push_back(
        fmt::format("generator.git_commit {} / {}", commit_of(earlier), commit_of(now)));
  return differences;
}

RunRecord completed(RunRecord measured, const RunRecord& known) {
  if (measured.workload.name.empty()) {
    RunRecord described = known;
    described.status = measured.status;
    described.reason = std::move(measured.reason);
    described.strategy.launcher = std::move(measured.strategy.launcher);
    return described;
  }
  fail_at_other_threads(known, measured);
  std::optional<StopReason>& stop = measured.samples.stop_reason;
  if (stop == StopReason::max_time || stop == StopReason::noise) stop.reset();
  return measured;
}

}  // namespace ptbench

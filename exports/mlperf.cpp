#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exports/formats.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/measure/environment.h"
#include "src/measure/repetition_times.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLatest = 253'402'300'799;  // the end of the year 9999

/// Seconds since 1970 between which a run, or one of its repetitions, took its steps.
struct Span {
  double begin = 0;
  double end = 0;
};

double created_at(const NamedResult& named) {
  if (const auto time = parse_rfc3339(named.result.created))
    return static_cast<double>(time->time_since_epoch().count());
  throw usage_error(fmt::format("'{}' does not say when it was made (created: '{}'), but each line "
                                "of MLPerf's logs needs a time",
                                printable(named.file), single_line(named.result.created)),
                    "export it as --format jsonl");
}

/// Lines of one run: what they have in common, and the time, which never goes back.
class Log {
 public:
  Log(const NamedResult& named, const RunRecord& run) : named_(named), run_(run) {}

  void at(double unix_seconds) { seconds_ = std::max(seconds_, unix_seconds); }

  void line(std::string_view event, std::string_view key, Json value,
            const Json& metadata = Json::object()) {
    constexpr bool kAscii = true;  // the parsers read Latin-1
    Json about = {{"file", named_.file}, {"run", run_.id}};
    about.update(metadata);
    const Json json = {
        {"namespace", ""},           {"time_ms", std::llround(kMillisecondsPerSecond * seconds_)},
        {"event_type", event},       {"key", key},
        {"value", std::move(value)}, {"metadata", std::move(about)}};
    text_ += ":::MLLOG " + json.dump(-1, ' ', kAscii, Json::error_handler_t::replace) + "\n";
  }
  void point(std::string_view key, Json value) { line("POINT_IN_TIME", key, std::move(value)); }
  /// Nothing where the value is not known.
  template <class Value>
  void point(std::string_view key, const std::optional<Value>& value) {
    if (value) point(key, Json(*value));
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const NamedResult& named_;
  const RunRecord& run_;
  double seconds_ = 0;
  std::string text_;
};

/// As MLPerf's rules spell it.
std::string precision_name(const std::string& precision) {
  return precision == "bf16" ? "bfloat16" : precision;
}

void tell_configuration(const NamedResult& named, const RunRecord& run, Log& log) {
  const OptimizerRecord& optimizer = run.optimizer;
  log.point("submission_benchmark", Json(run.workload.name));
  log.point("submission_platform", Json(machine_text(named.result.environment)));
  log.point("global_batch_size", run.strategy.global_batch);
  log.point("micro_batch_size", run.strategy.batch_per_replica);
  log.point("gradient_accumulation_steps", run.strategy.accumulation_steps);
  log.point("train_samples", run.data.samples);
  log.point("opt_name", optimizer.name);
  log.point("opt_base_learning_rate", finite(optimizer.lr));
  log.point("opt_weight_decay", finite(optimizer.weight_decay));
  log.point("lowest_numerical_precision_in_linear", Json(precision_name(run.strategy.precision)));
}

/// When the steps of a repetition were taken; empty where that is not known.
std::optional<Span> span_of(const RunRecord& run, const RepetitionStep& step) {
  const auto& repetitions = run.samples.repetitions;
  if (step.number >= std::ssize(repetitions)) return std::nullopt;
  const auto index = static_cast<std::size_t>(step.number);
  const auto begin = finite(repetitions[index].started_unix_seconds);
  if (!begin || *begin < 0 || *begin > kLatest) return std::nullopt;
  const double mean = mean_seconds(run.samples, step.number).value_or(step.seconds);
  const double end = *begin + mean * static_cast<double>(step.steps.value_or(0));
  return Span{*begin, std::isfinite(end) ? std::min(end, kLatest) : *begin};
}

/// That a repetition trained on; empty where that is not known.
std::optional<Size> samples_of(const RunRecord& run, const RepetitionStep& step) {
  constexpr double kMost = 1e15;  // files may be anybody's
  const double samples = static_cast<double>(step.steps.value_or(0)) *
                         static_cast<double>(run.strategy.global_batch.value_or(0));
  if (samples <= 0 || samples > kMost) return std::nullopt;
  return static_cast<Size>(samples);
}

/// A repetition, which is a process that trains from the first step on.
void tell_repetition(const RunRecord& run, const RepetitionStep& step, Log& log) {
  const std::optional<Span> span = span_of(run, step);
  Json metadata = {{"repetition", step.number}, {"samples_count", 0}};
  if (span) log.at(span->begin);
  log.line("INTERVAL_START", "block_start", nullptr, metadata);
  if (span) log.at(span->end);
  if (const auto samples = samples_of(run, step)) metadata["samples_count"] = *samples;
  Json statistics = {{"step_seconds", step.seconds}};
  if (const auto batch = run.strategy.global_batch)
    statistics["throughput"] = static_cast<double>(*batch) / step.seconds;
  log.line("POINT_IN_TIME", "tracked_stats", std::move(statistics), metadata);
  log.line("INTERVAL_END", "block_stop", nullptr, metadata);
}

std::string lines_of(const NamedResult& named, const RunRecord& run) {
  const bool measured = outcome_of(run) == Outcome::measured;
  const std::vector<RepetitionStep> steps =
      measured ? repetition_steps(run) : std::vector<RepetitionStep>();
  const std::optional<Span> first = steps.empty() ? std::nullopt : span_of(run, steps.front());
  Log log(named, run);
  log.at(first ? first->begin : created_at(named));
  tell_configuration(named, run, log);
  log.line("INTERVAL_START", "run_start", nullptr);
  for (const RepetitionStep& step : steps) tell_repetition(run, step, log);
  if (measured && run.accuracy && finite(run.accuracy->test))
    log.point("eval_accuracy", Json(*run.accuracy->test));
  Json end = {{"status", measured && run.status == Status::ok ? "success" : "aborted"}};
  if (!measured) end["reason"] = reason_of(run);
  log.line("INTERVAL_END", "run_stop", nullptr, end);
  return log.text();
}

}  // namespace

std::string mlperf_export(std::span<const NamedResult> results) {
  std::string text;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs) text += lines_of(named, run);
  return text;
}

}  // namespace ptbench

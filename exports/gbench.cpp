#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "exports/formats.h"
#include "reports/json_text.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

// compare.py compares entries of equal unit only: one unit for all that was measured, and another
// for entries whose times mean nothing.
constexpr const char* kUnit = "ns";
constexpr double kUnitsPerSecond = 1e9;
constexpr const char* kUnitOfNothing = "s";

void refuse_several_machines(std::span<const NamedResult> results) {
  const auto other = std::ranges::find_if(results, [&](const NamedResult& named) {
    return named.result.environment.host.name != results.front().result.environment.host.name;
  });
  if (other == results.end()) return;
  throw usage_error(
      fmt::format(
          "'{}' and '{}' come from two hosts, but Google Benchmark's JSON has room for only one",
          printable(results.front().file), printable(other->file)),
      "export each file by itself");
}

/// `caches` is there for Bencher's reader, which wants the list.
Json context_of(const ResultFile& result) {
  const EnvironmentRecord& environment = result.environment;
  Json context;
  if (!result.created.empty()) context["date"] = result.created;
  context["host_name"] = environment.host.name;
  context["executable"] = result.generator.name;
  if (environment.cpu.cores) context["num_cpus"] = *environment.cpu.cores;
  context["caches"] = Json::array();
  if (!result.generator.version.empty()) context["library_version"] = result.generator.version;
  if (const auto& build = result.generator.build_type)
    context["library_build_type"] = *build == "Debug" ? "debug" : "release";
  context["json_schema_version"] = 1;
  if (environment.cpu.model) context["cpu_model"] = *environment.cpu.model;
  if (result.generator.git_commit) context["commit"] = *result.generator.git_commit;
  context["times"] = "wall-clock time of a training step; cpu_time repeats real_time";
  return context;
}

/// What all entries of a run begin with.
Json entry_of(const RunRecord& run, std::string_view suffix, Size family, std::string_view type,
              std::size_t repetitions) {
  Json entry;
  entry["name"] = run.id + std::string(suffix);
  entry["family_index"] = family;
  entry["per_family_instance_index"] = 0;
  entry["run_name"] = run.id;
  entry["run_type"] = type;
  entry["repetitions"] = repetitions;
  return entry;
}

void put_threads(const RunRecord& run, Json& entry) {
  constexpr Size kMost = 1'000'000;  // files may be anybody's
  const Size threads = run.strategy.threads.value_or(0);
  const Size ranks = run.strategy.world_size;
  if (threads > 0 && threads <= kMost && ranks > 0 && ranks <= kMost)
    entry["threads"] = threads * ranks;
}

void put_times(double time, const char* unit, Json& entry) {
  entry["real_time"] = time;
  entry["cpu_time"] = time;
  entry["time_unit"] = unit;
}

void put_label(const RunRecord& run, const std::string& remark, Json& entry) {
  std::vector<std::string> words = remarks_of(run);
  if (!remark.empty()) words.insert(words.begin(), remark);
  if (!words.empty()) entry["label"] = fmt::format("{}", fmt::join(words, ", "));
}

Json repetition_entry(const RunRecord& run, const RepetitionStep& step, Size family,
                      std::size_t repetitions) {
  Json entry = entry_of(run, "", family, "iteration", repetitions);
  entry["repetition_index"] = step.number;
  put_threads(run, entry);
  if (step.steps) entry["iterations"] = *step.steps;
  put_times(kUnitsPerSecond * step.seconds, kUnit, entry);
  if (const auto batch = run.strategy.global_batch)
    entry["items_per_second"] = static_cast<double>(*batch) / step.seconds;
  put_label(run, step.remark, entry);
  return entry;
}

Json aggregate_entry(const RunRecord& run, std::string_view name, double time, Size family,
                     std::size_t repetitions) {
  Json entry = entry_of(run, "_" + std::string(name), family, "aggregate", repetitions);
  put_threads(run, entry);
  entry["aggregate_name"] = name;
  entry["aggregate_unit"] = "time";
  entry["iterations"] = repetitions;
  put_times(time, kUnit, entry);
  return entry;
}

void put_aggregates(const RunRecord& run, std::span<const RepetitionStep> steps, Size family,
                    Json& entries) {
  std::vector<double> times;
  times.reserve(steps.size());
  for (const RepetitionStep& step : steps) times.push_back(kUnitsPerSecond * step.seconds);
  const auto put = [&](std::string_view name, double time) {
    entries.push_back(aggregate_entry(run, name, time, family, times.size()));
  };
  put("mean", mean(times));
  put("median", median(times));
  if (const auto deviation = standard_deviation(times)) put("stddev", *deviation);
}

Json entry_without_times(const RunRecord& run, Size family) {
  Json entry = entry_of(run, "", family, "iteration", 1);
  entry["repetition_index"] = 0;
  put_threads(run, entry);
  const bool failed = outcome_of(run) == Outcome::failed;
  entry[failed ? "error_occurred" : "skipped"] = true;
  entry[failed ? "error_message" : "skip_message"] = reason_of(run);
  entry["iterations"] = 0;
  put_times(0, kUnitOfNothing, entry);
  return entry;
}

void put_run(const RunRecord& run, Size family, Json& entries) {
  if (outcome_of(run) != Outcome::measured) {
    entries.push_back(entry_without_times(run, family));
    return;
  }
  const std::vector<RepetitionStep> steps = repetition_steps(run);
  for (const RepetitionStep& step : steps)
    entries.push_back(repetition_entry(run, step, family, steps.size()));
  if (steps.size() > 1) put_aggregates(run, steps, family, entries);
}

}  // namespace

std::string gbench_export(std::span<const NamedResult> results) {
  refuse_several_machines(results);
  Json entries = Json::array();
  Size family = 0;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs) put_run(run, family++, entries);
  const Json document = {{"context", context_of(results.front().result)},
                         {"benchmarks", std::move(entries)}};
  return json_text(document) + "\n";
}

}  // namespace ptbench

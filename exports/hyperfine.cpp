#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exports/formats.h"
#include "reports/json_text.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

// hyperfine also writes `user` and `system` seconds, which nobody measures here, and the memory of
// each command.

struct Times {
  std::vector<double> seconds;
  bool of_processes = true;  ///< one a repetition, each of which is a process of its own
};

/// Repetitions are independent, as a t-test wants its values; samples that follow each other are
/// not, but better than a single value.
Times times_of(const RunRecord& run) {
  Times times;
  for (const RepetitionStep& step : repetition_steps(run)) times.seconds.push_back(step.seconds);
  times.of_processes = times.seconds.size() > 1;
  if (times.of_processes) return times;
  std::vector<double> samples;
  for (const double seconds : run.samples.step_seconds)
    if (is_positive(seconds)) samples.push_back(seconds);
  if (!samples.empty()) times.seconds = std::move(samples);
  return times;
}

using Parameters = std::map<std::string, std::string>;

constexpr const char* kGlobalBatch = "global_batch";

std::string text_of(const std::optional<Size>& value) {
  return value ? std::to_string(*value) : std::string();
}

/// What a grid may be over.
Parameters parameters_of(const RunRecord& run) {
  Parameters parameters{{"workload", run.workload.name},
                        {"strategy", run.strategy.name},
                        {"ranks", std::to_string(run.strategy.world_size)},
                        {"batch", text_of(run.strategy.batch_per_replica)},
                        {kGlobalBatch, text_of(run.strategy.global_batch)},
                        {"precision", run.strategy.precision},
                        {"threads", text_of(run.strategy.threads)},
                        {"accumulate", text_of(run.strategy.accumulation_steps)}};
  std::erase_if(parameters, [](const auto& parameter) { return parameter.second.empty(); });
  return parameters;
}

std::vector<const RunRecord*> measured_runs(std::span<const NamedResult> results) {
  std::vector<const RunRecord*> runs;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs)
      if (outcome_of(run) == Outcome::measured) runs.push_back(&run);
  return runs;
}

/// The names of those that are not the same for all runs: plot_parametrized.py wants what was
/// varied, and no more. With the number of ranks, one of both batches varies of itself.
std::set<std::string> varied(const std::vector<const RunRecord*>& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const RunRecord* run : runs)
    for (const auto& [name, value] : parameters_of(*run)) values[name].insert(value);
  std::set<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1) names.insert(name);
  if (names.erase(kGlobalBatch) == 0) names.erase("batch");
  return names;
}

Json result_of(const RunRecord& run, const std::set<std::string>& varied) {
  const Times times = times_of(run);
  const Summary summary = summarize(times.seconds);
  Json result = {{"command", run.id}, {"mean", summary.mean}};
  result["stddev"] = summary.standard_deviation ? Json(*summary.standard_deviation) : Json(nullptr);
  result["median"] = summary.median;
  result["min"] = summary.min;
  result["max"] = summary.max;
  result["times"] = times.seconds;
  if (times.of_processes) result["exit_codes"] = std::vector<int>(times.seconds.size(), 0);
  Json parameters = Json::object();
  for (const auto& [name, value] : parameters_of(run))
    if (varied.contains(name)) parameters[name] = value;
  if (!parameters.empty()) result["parameters"] = std::move(parameters);
  return result;
}

}  // namespace

std::string hyperfine_export(std::span<const NamedResult> results) {
  const std::vector<const RunRecord*> runs = measured_runs(results);
  const std::set<std::string> names = varied(runs);
  Json list = Json::array();
  for (const RunRecord* run : runs) list.push_back(result_of(*run, names));
  const Json document = {{"results", std::move(list)}};
  return json_text(document) + "\n";
}

}  // namespace ptbench

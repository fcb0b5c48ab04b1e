#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "exports/formats.h"
#include "reports/json_text.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestName = 1024;  // bytes, as Bencher counts
constexpr double kNanosecondsPerSecond = 1e9;

/// The name of a benchmark.
std::string name_of_benchmark(const RunRecord& run) {
  std::string name = valid_utf8(run.id);
  if (name.empty() || name.size() > kLongestName)
    throw usage_error(fmt::format("Bencher takes names of 1 to {} bytes, and '{:.60}…' has {}",
                                  kLongestName, single_line(name), name.size()),
                      "give the model file a shorter name, or export another format");
  return name;
}

void put(std::string_view measure, const std::optional<double>& value,
         const std::optional<Interval>& interval, double factor, Json& measures) {
  const std::optional<double> known = finite(value);
  if (!known) return;
  Json metric = {{"value", factor * *known}};
  if (const auto ends = finite(interval)) {
    metric["lower_value"] = factor * ends->low;
    metric["upper_value"] = factor * ends->high;
  }
  measures[std::string(measure)] = std::move(metric);
}

/// `latency` and `throughput` are Bencher's own measures, in its units.
Json measures_of(const RunRecord& run) {
  Json measures = Json::object();
  put("latency", run.step_seconds.median, run.step_seconds.ci95, kNanosecondsPerSecond, measures);
  put("throughput", run.throughput.value, run.throughput.ci95, 1, measures);
  if (const auto bytes = run.memory.peak_bytes)
    put("peak-memory", static_cast<double>(*bytes), {}, 1, measures);
  if (run.scaling)
    put("scaling-efficiency", run.scaling->efficiency, run.scaling->efficiency_ci95, 1, measures);
  return measures;
}

}  // namespace

std::string bmf_export(std::span<const NamedResult> results) {
  Json document = Json::object();
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs)
      if (outcome_of(run) == Outcome::measured) document[name_of_benchmark(run)] = measures_of(run);
  return json_text(document) + "\n";
}

}  // namespace ptbench

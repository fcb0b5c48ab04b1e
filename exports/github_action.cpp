#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "exports/formats.h"
#include "reports/json_text.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/measure/interval_text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBytesPerMebibyte = 1024 * 1024;

struct Value {
  std::string_view suffix;  ///< to the run's id, of what is not the run's main value
  std::string_view unit;
  std::optional<double> value;
  std::optional<Interval> interval;  ///< of 95 %
  double factor = 1;                 ///< from the record's unit
};

/// Shown when the pointer is over a point of the chart.
std::string extra_of(const ResultFile& result, const RunRecord& run) {
  std::vector<std::string> lines{machine_text(result.environment), build_text(result.generator)};
  if (!result.created.empty()) lines.push_back(result.created);
  if (const std::string clean = clean_repetitions_text(run.samples, kAreClean); !clean.empty())
    lines.push_back(clean);
  for (std::string& remark : remarks_of(run)) lines.push_back(std::move(remark));
  std::erase(lines, std::string());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// "± 12.3"; "8.2 to 13.9" where halves differ.
std::string range_of(double value, const Interval& interval) {
  if (form_of(value, interval) == IntervalForm::half_width)
    return fmt::format("± {:.3g}", (interval.high - interval.low) / 2);
  return fmt::format("{:.3g} to {:.3g}", interval.low, interval.high);
}

void put(const NamedResult& named, const RunRecord& run, const Value& value, Json& entries) {
  const std::optional<double> known = finite(value.value);
  if (!known) return;
  Json entry = {{"name", run.id + std::string(value.suffix)},
                {"unit", value.unit},
                {"value", value.factor * *known}};
  if (const auto interval = finite(value.interval))
    entry["range"] = range_of(value.factor * *known, {.low = value.factor * interval->low,
                                                      .high = value.factor * interval->high});
  entry["extra"] = extra_of(named.result, run);
  entries.push_back(std::move(entry));
}

/// All values that `values_of` tells of measured runs. A usage error where there is none, since an
/// empty list is none for the action.
std::string array_of(std::span<const NamedResult> results,
                     std::vector<Value> (*values_of)(const RunRecord&)) {
  Json entries = Json::array();
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs)
      if (outcome_of(run) == Outcome::measured)
        for (const Value& value : values_of(run)) put(named, run, value, entries);
  if (entries.empty())
    throw usage_error(fmt::format("'{}': no run has the values of this format, and "
                                  "github-action-benchmark takes no empty list",
                                  printable(results.front().file)),
                      "export step times with --format gha-smaller");
  return json_text(entries) + "\n";
}

}  // namespace

std::string gha_bigger_export(std::span<const NamedResult> results) {
  return array_of(results, [](const RunRecord& run) -> std::vector<Value> {
    Value efficiency{.suffix = " (scaling efficiency)", .unit = "fraction", .interval = {}};
    if (run.scaling) efficiency.value = run.scaling->efficiency;
    if (run.scaling) efficiency.interval = run.scaling->efficiency_ci95;
    return {{.suffix = "",
             .unit = "samples/s",
             .value = run.throughput.value,
             .interval = run.throughput.ci95},
            efficiency};
  });
}

std::string gha_smaller_export(std::span<const NamedResult> results) {
  return array_of(results, [](const RunRecord& run) -> std::vector<Value> {
    std::optional<double> peak;
    if (const auto bytes = run.memory.peak_bytes) peak = static_cast<double>(*bytes);
    return {{.suffix = "",
             .unit = "ms/step",
             .value = run.step_seconds.median,
             .interval = run.step_seconds.ci95,
             .factor = kMillisecondsPerSecond},
            {.suffix = " (peak memory)",
             .unit = "MiB",
             .value = peak,
             .interval = {},
             .factor = 1 / kBytesPerMebibyte}};
  });
}

}  // namespace ptbench

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "reports/comparison_parts.h"
#include "reports/comparison_text.h"
#include "reports/json_text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

/// Half an interval is none.
Json interval(const std::optional<Interval>& value) {
  if (!value || !std::isfinite(value->low) || !std::isfinite(value->high)) return nullptr;
  return Json::array({value->low, value->high});
}

Json object_of(const std::optional<LeftOut>& left_out) {
  if (!left_out) return nullptr;
  return {{"entries", left_out->entries}, {"differences", left_out->differences}};
}

Json object_of(const std::optional<ReferenceChange>& reference) {
  if (!reference) return nullptr;
  return {{"entries", reference->entries},
          {"change", json_number(reference->change)},
          {"change_ci99", interval(reference->interval)}};
}

Json object_of(const std::optional<DecidingChange>& deciding) {
  if (!deciding) return nullptr;
  return {{"statistic", name_of(deciding->statistic)},
          {"base_seconds", json_number(deciding->base_seconds)},
          {"new_seconds", json_number(deciding->new_seconds)},
          {"change", json_number(deciding->change)},
          {"interval", interval(deciding->interval)},
          {"interval_level", json_number(deciding->level)},
          {"least", json_number(deciding->least)}};
}

Json object_of(const RunComparison& run) {
  return {{"id", run.id},
          {"verdict", name_of(run.verdict)},
          {"reason", run.reason.empty() ? Json(nullptr) : Json(run.reason)},
          {"base_seconds", json_number(run.base_seconds)},
          {"new_seconds", json_number(run.new_seconds)},
          {"base_ci95", interval(run.base_ci95)},
          {"new_ci95", interval(run.new_ci95)},
          {"statistic", name_of(run.statistic)},
          {"change", json_number(run.change)},
          {"change_ci99", interval(run.change_ci99)},
          {"interval_level", run.change_ci99 ? Json(run.interval_level) : Json(nullptr)},
          {"mean_change", json_number(run.mean_change)},
          {"mean_change_ci999", interval(run.mean_change_ci999)},
          {"deciding", object_of(run.deciding)},
          {"p_value", json_number(run.p_value)},
          {"base_repetitions", run.base_repetitions},
          {"new_repetitions", run.new_repetitions},
          {"rounds", run.rounds > 0 ? Json(run.rounds) : Json(nullptr)},
          {"pairs", run.pairs > 0 ? Json(run.pairs) : Json(nullptr)},
          {"clock_change", json_number(run.clock_change)},
          {"in_cycles", run.in_cycles},
          {"decided_by", run.decided_by ? Json(name_of(*run.decided_by)) : Json(nullptr)},
          {"window", object_of(run.window)},
          {"anchor", object_of(run.anchor)},
          {"differences", distinctions(run)},
          {"left_out", object_of(run.left_out)}};
}

Json counts_of(const Comparison& comparison) {
  Json counts = Json::object();
  for (const Verdict verdict : kVerdicts)
    counts[std::string(name_of(verdict))] = count_of(comparison, verdict);
  return counts;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json runs = Json::array();
  for (const RunComparison& run : comparison.runs) runs.push_back(object_of(run));
  return json_text({{"schema", "ptbench.comparison/1"},
                    {"detect", comparison.detect},
                    {"environment_ignored", comparison.environment_ignored},
                    {"differences", distinctions(comparison)},
                    {"left_out", object_of(comparison.left_out)},
                    {"counts", counts_of(comparison)},
                    {"tested", comparison.tested},
                    {"expected_false_alarms", comparison.expected_false_alarms},
                    {"runs", std::move(runs)}}) +
         "\n";
}

}  // namespace ptbench

#include "reports/json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "reports/json_text.h"
#include "src/measure/field_table.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

Json to_json_value(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json to_json_value(Size value) { return value; }
Json to_json_value(Bytes value) { return value; }
Json to_json_value(bool value) { return value; }
Json to_json_value(const std::string& value) { return value; }

template <class T>
Json to_json_value(const std::optional<T>& value) {
  return value ? to_json_value(*value) : Json(nullptr);
}

Json to_json_value(const std::map<std::string, std::string>& entries) {
  Json object = Json::object();
  for (const auto& [key, value] : entries) object[key] = value;
  return object;
}

Json to_json_value(const FieldValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else
          return to_json_value(held);
      },
      value);
}

Json to_json_value(const SliceRecord& slice) {
  return {{"repetition", slice.repetition},
          {"first", slice.first},
          {"count", slice.count},
          {"clean", slice.clean},
          {"median_seconds", to_json_value(slice.median_seconds)},
          {"core_latency_seconds", to_json_value(slice.core_latency_seconds)},
          {"placement", to_json_value(slice.placement)},
          {"foreign_cpu_fraction", to_json_value(slice.foreign_cpu_fraction)},
          {"steal_fraction", to_json_value(slice.steal_fraction)},
          {"frequency_hertz", to_json_value(slice.frequency_hertz)},
          {"turn", to_json_value(slice.turn)}};
}

Json to_json_value(const RepetitionRecord& repetition) {
  return {{"median_seconds", to_json_value(repetition.median_seconds)},
          {"placement", to_json_value(repetition.placement)},
          {"clean_slices", to_json_value(repetition.clean_slices)},
          {"lower_quartile_seconds", to_json_value(repetition.lower_quartile_seconds)},
          {"mean_seconds", to_json_value(repetition.mean_seconds)},
          {"started_unix_seconds", to_json_value(repetition.started_unix_seconds)},
          {"lockstep", to_json_value(repetition.lockstep)}};
}

Json to_json_value(const RankRecord& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"device", rank.device},
          {"compute_seconds", to_json_value(rank.compute_seconds)},
          {"wait_seconds", to_json_value(rank.wait_seconds)},
          {"peak_memory_bytes", to_json_value(rank.peak_memory_bytes)}};
}

Json to_json_value(const WarningRecord& warning) {
  return {{"code", warning.code}, {"message", warning.message}, {"remedy", warning.remedy}};
}

Json to_json_value(const DeviceRecord& device) {
  return {{"id", device.id},
          {"name", to_json_value(device.name)},
          {"memory_bytes", to_json_value(device.memory_bytes)}};
}

Json to_json_value(const std::map<std::string, PlacementRecord>& placements) {
  Json object = Json::object();
  for (const auto& [name, placement] : placements)
    object[name] = {{"median", to_json_value(placement.median_seconds)},
                    {"repetitions", to_json_value(placement.repetitions)}};
  return object;
}

// Below the overloads for its elements: unnamed namespaces are not searched by argument.
Json to_json_value(const RunRecord& run);

template <class T>
Json to_json_value(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json_value(value));
  return array;
}

/// For lists that are null, not empty, when nothing is known.
template <class T>
Json or_null(const std::vector<T>& values) {
  return values.empty() ? Json(nullptr) : to_json_value(values);
}

/// "strategy.name" as /strategy/name.
Json::json_pointer pointer_to(std::string_view path) {
  std::string text = "/";
  for (const char letter : path) text += letter == '.' ? '/' : letter;
  return Json::json_pointer(text);
}

/// Half an interval is no interval.
void set_bound(Json& interval, Bound bound, Json value) {
  if (bound == Bound::low)
    interval = value.is_null() ? Json(nullptr) : Json::array({std::move(value), nullptr});
  else if (interval.is_array() && !value.is_null())
    interval[1] = std::move(value);
  else
    interval = nullptr;
}

Json to_json_value(const RunRecord& run) {
  Json json;
  for (const Field& field : field_table()) {
    Json& place = json[pointer_to(field.json_path())];
    if (field.bound() == Bound::none)
      place = to_json_value(field.get(run));
    else
      set_bound(place, field.bound(), to_json_value(field.get(run)));
  }
  json["workload"]["input_shape"] = or_null(run.workload.input_shape);
  json["strategy"]["devices"] = to_json_value(run.strategy.devices);
  json["data"]["mean"] = or_null(run.data.mean);
  json["data"]["std"] = or_null(run.data.standard_deviation);
  json["samples"]["step_seconds"] = to_json_value(run.samples.step_seconds);
  json["samples"]["slices"] = to_json_value(run.samples.slices);
  json["samples"]["repetitions"] = to_json_value(run.samples.repetitions);
  json["step_seconds"]["by_placement"] = to_json_value(run.step_seconds.by_placement);
  if (!run.energy) json["energy"] = nullptr;
  if (!run.accuracy) json["accuracy"] = nullptr;
  if (!run.scaling) json["scaling"] = nullptr;
  json["ranks"] = to_json_value(run.ranks);
  json["warnings"] = to_json_value(run.warnings);
  return json;
}

Json to_json_value(const GeneratorRecord& generator) {
  return {{"name", generator.name},
          {"version", generator.version},
          {"git_commit", to_json_value(generator.git_commit)},
          {"build_type", to_json_value(generator.build_type)}};
}

Json to_json_value(const EnvironmentRecord& environment) {
  return {{"host",
           {{"name", environment.host.name},
            {"os", to_json_value(environment.host.os)},
            {"kernel", to_json_value(environment.host.kernel)}}},
          {"cpu",
           {{"model", to_json_value(environment.cpu.model)},
            {"cores", to_json_value(environment.cpu.cores)},
            {"isa", to_json_value(environment.cpu.isa)}}},
          {"memory_bytes", to_json_value(environment.memory_bytes)},
          {"devices", to_json_value(environment.devices)},
          {"libraries", to_json_value(environment.libraries)},
          {"variables", to_json_value(environment.variables)}};
}

}  // namespace

std::string to_json(const ResultFile& file) {
  Json json = {{"schema", "ptbench.result/2"},
               {"generator", to_json_value(file.generator)},
               {"created", file.created},
               {"command", to_json_value(file.command)},
               {"environment", to_json_value(file.environment)}};
  if (!file.accepted.empty()) json["accepted"] = to_json_value(file.accepted);
  json["runs"] = to_json_value(file.runs);
  return json_text(json) + "\n";
}

}  // namespace ptbench

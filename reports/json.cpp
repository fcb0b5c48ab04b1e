#include "reports/json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "reports/json_text.h"
#include "reports/record_members.h"
#include "src/measure/field_table.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

Json to_json_value(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json to_json_value(Size value) { return value; }
Json to_json_value(Bytes value) { return value; }
Json to_json_value(bool value) { return value; }
Json to_json_value(const std::string& value) { return value; }

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

// Ahead of each other: unnamed namespaces are not searched by argument.
template <class T>
Json to_json_value(const std::vector<T>& values);
template <class T>
Json to_json_value(const std::map<std::string, T>& entries);
template <HasMembers Record>
Json to_json_value(const Record& record);

template <class T>
Json to_json_value(const std::optional<T>& value) {
  return value ? to_json_value(*value) : Json(nullptr);
}

template <HasMembers Record>
void put_members(const Record& record, Json& object) {
  const auto put = [&](const auto& member) {
    object[std::string(member.key)] = to_json_value(record.*member.value);
  };
  std::apply([&](const auto&... member) { (put(member), ...); }, kMembers<Record>);
}

template <HasMembers Record>
Json to_json_value(const Record& record) {
  Json object = Json::object();
  put_members(record, object);
  return object;
}

template <class T>
Json to_json_value(const std::map<std::string, T>& entries) {
  Json object = Json::object();
  for (const auto& [key, value] : entries) object[key] = to_json_value(value);
  return object;
}

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
  put_members(run.samples, json["samples"]);
  json["step_seconds"]["by_placement"] = to_json_value(run.step_seconds.by_placement);
  if (!run.link) json["link"] = nullptr;
  if (!run.energy) json["energy"] = nullptr;
  if (!run.accuracy) json["accuracy"] = nullptr;
  if (!run.scaling) json["scaling"] = nullptr;
  if (!run.versus) json["versus"] = nullptr;
  json["ranks"] = to_json_value(run.ranks);
  json["warnings"] = to_json_value(run.warnings);
  return json;
}

}  // namespace

nlohmann::ordered_json run_json(const RunRecord& run) { return to_json_value(run); }

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

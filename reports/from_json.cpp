#include "reports/from_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "reports/json_text.h"
#include "reports/record_members.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using ParsedJson = nlohmann::json;

constexpr std::size_t kLongestExcerpt = 40;
constexpr std::size_t kLongestPointer = 200;

// What no clock measures of a step, and no run of anything else. Logarithms and sums of what is
// between them are harmless.
constexpr double kShortestStep = 1e-12;
constexpr double kLongestSeconds = 1e9;

std::string shortened(const std::string& text, std::size_t longest) {
  return single_line(text.size() <= longest ? text : text.substr(0, longest) + "…");
}

std::string excerpt(const ParsedJson& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shortened(value.dump(-1, ' ', true), kLongestExcerpt);
}

void require_object(const ParsedJson& json, const Place& place) {
  if (!json.is_object()) throw place.cannot_be(json);
}

// One overload a type, each for a value that is not null. Numbers are those beside the field table:
// counts, sizes, seconds and shares, none of which is negative.

void read_value(const ParsedJson& json, const Place& place, std::string& target) {
  if (!json.is_string()) throw place.cannot_be(json);
  target = json.get_ref<const std::string&>();
}

void read_value(const ParsedJson& json, const Place& place, bool& target) {
  if (!json.is_boolean()) throw place.cannot_be(json);
  target = json.get<bool>();
}

void read_value(const ParsedJson& json, const Place& place, double& target) {
  if (!json.is_number() || json.get<double>() < 0) throw place.cannot_be(json);
  target = json.get<double>();
}

void read_value(const ParsedJson& json, const Place& place, Bytes& target) {
  if (!json.is_number_unsigned()) throw place.cannot_be(json);
  target = json.get<Bytes>();
}

void read_value(const ParsedJson& json, const Place& place, Size& target) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > kLargestCount)
    throw place.cannot_be(json);
  target = json.get<Size>();
}

// Ahead of what has members and elements: unnamed namespaces are not searched by argument.
template <HasMembers Record>
void read_value(const ParsedJson& json, const Place& place, Record& record);
template <class T>
void read_value(const ParsedJson& json, const Place& place, std::vector<T>& target);

/// Numbers that JSON lacks are null in a list.
void read_value(const ParsedJson& json, const Place& place, std::vector<double>& target) {
  if (!json.is_array()) throw place.cannot_be(json);
  target.reserve(json.size());
  for (const ParsedJson& number : json) {
    if (!number.is_number() && !number.is_null())
      throw Place(place, target.size()).cannot_be(number);
    target.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                      : number.get<double>());
  }
}

template <class T>
void read_value(const ParsedJson& json, const Place& place, std::optional<T>& target) {
  read_value(json, place, target.emplace());
}

template <class T>
void read_value(const ParsedJson& json, const Place& place, std::vector<T>& target) {
  if (!json.is_array()) throw place.cannot_be(json);
  target.reserve(json.size());
  for (const ParsedJson& element : json) {
    const Place where(place, target.size());
    read_value(element, where, target.emplace_back());
  }
}

template <class T>
void read_value(const ParsedJson& json, const Place& place, std::map<std::string, T>& target) {
  require_object(json, place);
  for (const auto& [key, value] : json.get_ref<const ParsedJson::object_t&>())
    read_value(value, Place(place, key), target[key]);
}

/// The value of `key`; null where it is missing or null.
const ParsedJson* find(const ParsedJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

template <class T>
void read_member(const ParsedJson& object, std::string_view key, const Place& place, T& target) {
  if (const ParsedJson* const value = find(object, key))
    read_value(*value, Place(place, key), target);
}

void require_step_time(const ParsedJson& json, const Place& place, double seconds) {
  if (seconds < kShortestStep || seconds > kLongestSeconds) throw place.cannot_be(json);
}

void read_step_time(const ParsedJson& json, const Place& place, std::optional<double>& target) {
  if (!json.is_number()) throw place.cannot_be(json);
  require_step_time(json, place, target.emplace(json.get<double>()));
}

void read_step_time(const ParsedJson& json, const Place& place, std::vector<double>& target) {
  read_value(json, place, target);
  for (std::size_t index = 0; index < target.size(); ++index)
    require_step_time(json[index], Place(place, index), target[index]);
}

template <class Record, class Value>
void read_row(const ParsedJson& object, const Place& place, const Member<Record, Value>& member,
              Record& record) {
  read_member(object, member.key, place, record.*member.value);
}

template <class Record, class Value>
void read_row(const ParsedJson& object, const Place& place,
              const StepTimeMember<Record, Value>& member, Record& record) {
  if (const ParsedJson* const value = find(object, member.key))
    read_step_time(*value, Place(place, member.key), record.*member.value);
}

template <HasMembers Record>
void read_value(const ParsedJson& json, const Place& place, Record& record) {
  require_object(json, place);
  std::apply([&](const auto&... member) { (read_row(json, place, member, record), ...); },
             kMembers<Record>);
}

/// Files may leave step_seconds out, which take most of the room; but then all of them.
void check_slices(const SamplesRecord& samples, const ParsedJson& json, const Place& place) {
  const auto count = static_cast<Size>(samples.step_seconds.size());
  if (count == 0) return;
  const auto bad = std::ranges::find_if(samples.slices, [count](const SliceRecord& slice) {
    return slice.first + slice.count > count;
  });
  if (bad == samples.slices.end()) return;
  const auto index = static_cast<std::size_t>(bad - samples.slices.begin());
  const Place samples_place(place, "samples");
  const Place slices(samples_place, "slices");
  const Place slice(slices, index);
  const char* const key = bad->first > count ? "first" : "count";
  throw Place(slice, key).cannot_be(json.at("samples").at("slices").at(index).at(key));
}

void read_lists(const ParsedJson& json, const Place& place, RunRecord& run) {
  if (const ParsedJson* const workload = find(json, "workload"))
    read_member(*workload, "input_shape", Place(place, "workload"), run.workload.input_shape);
  if (const ParsedJson* const strategy = find(json, "strategy"))
    read_member(*strategy, "devices", Place(place, "strategy"), run.strategy.devices);
  if (const ParsedJson* const data = find(json, "data")) {
    read_member(*data, "mean", Place(place, "data"), run.data.mean);
    read_member(*data, "std", Place(place, "data"), run.data.standard_deviation);
  }
  read_member(json, "samples", place, run.samples);
  check_slices(run.samples, json, place);
  if (const ParsedJson* const seconds = find(json, "step_seconds"))
    read_member(*seconds, "by_placement", Place(place, "step_seconds"),
                run.step_seconds.by_placement);
  read_member(json, "ranks", place, run.ranks);
  read_member(json, "warnings", place, run.warnings);
}

FieldValue field_value(const ParsedJson& json, const Place& place) {
  switch (json.type()) {
    case ParsedJson::value_t::boolean: return json.get<bool>();
    case ParsedJson::value_t::string: return json.get_ref<const std::string&>();
    case ParsedJson::value_t::number_integer: return json.get<std::int64_t>();
    case ParsedJson::value_t::number_float: return json.get<double>();
    case ParsedJson::value_t::number_unsigned:
      if (std::in_range<std::int64_t>(json.get<std::uint64_t>())) return json.get<std::int64_t>();
      return json.get<double>();  // doubles may be written with many digits
    default: throw place.cannot_be(json);
  }
}

bool may_be_negative(Unit unit) { return unit == Unit::none || unit == Unit::fraction; }

/// Whether nothing that was measured has such a number. Deviations may be 0.
bool is_absurd(const Field& field, double number) {
  if (field.unit == Unit::seconds && number > kLongestSeconds) return true;
  if (field.path == "step_seconds.median") return number < kShortestStep;
  return number < 0 && !may_be_negative(field.unit);
}

void read_field(const Field& field, const ParsedJson& json, const Place& place, RunRecord& run) {
  if (json.is_number() && is_absurd(field, json.get<double>())) throw place.cannot_be(json);
  if (!field.set(run, field_value(json, place))) throw place.cannot_be(json);
}

void read_interval(const Field& low, const Field& high, const ParsedJson& json, const Place& place,
                   RunRecord& run) {
  if (!json.is_array() || json.size() != 2) throw place.cannot_be(json);
  read_field(low, json[0], Place(place, std::size_t{0}), run);
  read_field(high, json[1], Place(place, std::size_t{1}), run);
}

}  // namespace

std::string Place::pointer() const {
  std::vector<const Place*> chain;
  for (const Place* place = this; place->parent_ != nullptr; place = place->parent_)
    chain.push_back(place);
  std::ranges::reverse(chain);
  std::string text;
  for (const Place* place : chain)
    text += '/' + (place->in_array_ ? std::to_string(place->index_) : pointer_token(place->key_));
  return shortened(text, kLongestPointer);
}

Error Place::cannot_be(const ParsedJson& value) const {
  const std::string where = pointer();
  return usage_error(fmt::format("result file '{}': {} cannot be {}", single_line(*file_),
                                 where.empty() ? "the document" : where, excerpt(value)),
                     "ptbench validate names every place of a file that is wrong");
}

Error result_error(const std::string& file, const std::string& what, std::string remedy) {
  if (remedy.empty()) remedy = "name a .json file that ptbench run or sweep has written";
  return usage_error(fmt::format("result file '{}' {}", single_line(file), what),
                     std::move(remedy));
}

RunReader::RunReader() {
  for (const Field& field : field_table()) add(field);
}

void RunReader::add(const Field& field) {
  Node* node = &root_;
  std::string_view path = field.json_path();
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    const auto found = std::ranges::find(node->children, key, &Node::key);
    node = found != node->children.end() ? &*found : &node->children.emplace_back(Node{.key = key});
  }
  (field.bound() == Bound::high ? node->high : node->field) = &field;
}

void RunReader::read(const Node& node, const ParsedJson& json, const Place& place, RunRecord& run) {
  require_object(json, place);
  for (const Node& child : node.children) {
    const ParsedJson* const value = find(json, child.key);
    if (value == nullptr) continue;
    const Place where(place, child.key);
    if (child.high != nullptr)
      read_interval(*child.field, *child.high, *value, where, run);
    else if (child.field != nullptr)
      read_field(*child.field, *value, where, run);
    else
      read(child, *value, where, run);
  }
}

RunRecord RunReader::read(const ParsedJson& json, const Place& place, int schema_version) const {
  require_object(json, place);
  for (const char* const key : {"id", "status"})
    if (find(json, key) == nullptr) throw Place(place, key).cannot_be(nullptr);
  RunRecord run;
  if (find(json, "link") != nullptr) run.link.emplace();
  if (find(json, "energy") != nullptr) run.energy.emplace();
  if (find(json, "accuracy") != nullptr) run.accuracy.emplace();
  if (find(json, "scaling") != nullptr) run.scaling.emplace();
  if (find(json, "versus") != nullptr) run.versus.emplace();
  read(root_, json, place, run);
  read_lists(json, place, run);
  if (run.id.empty()) throw Place(place, "id").cannot_be("");
  if (schema_version == 1)
    run.compute.effective_utilization = std::exchange(run.compute.utilization, std::nullopt);
  return run;
}

ResultFile read_frame(const ParsedJson& json, const Place& place) {
  ResultFile file;
  read_member(json, "generator", place, file.generator);
  read_member(json, "created", place, file.created);
  read_member(json, "command", place, file.command);
  read_member(json, "environment", place, file.environment);
  read_member(json, "accepted", place, file.accepted);
  return file;
}

}  // namespace ptbench

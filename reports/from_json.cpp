#include "reports/from_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "reports/json_text.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestExcerpt = 40;
constexpr std::size_t kLongestPointer = 200;

// What no clock measures of a step, and no run of anything else. Logarithms and sums of what is
// between them are harmless.
constexpr double kShortestStep = 1e-12;
constexpr double kLongestSeconds = 1e9;

/// Beyond what any run counts; sums of such counts do not overflow.
constexpr std::uint64_t kLargestCount = 1'000'000'000'000'000;

std::string shortened(const std::string& text, std::size_t longest) {
  return single_line(text.size() <= longest ? text : text.substr(0, longest) + "…");
}

std::string excerpt(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shortened(value.dump(-1, ' ', true), kLongestExcerpt);
}

void require_object(const Json& json, const Place& place) {
  if (!json.is_object()) throw place.cannot_be(json);
}

// One overload a type, each for a value that is not null. Numbers are those beside the field table:
// counts, sizes, seconds and shares, none of which is negative.

void read_value(const Json& json, const Place& place, std::string& target) {
  if (!json.is_string()) throw place.cannot_be(json);
  target = json.get_ref<const std::string&>();
}

void read_value(const Json& json, const Place& place, bool& target) {
  if (!json.is_boolean()) throw place.cannot_be(json);
  target = json.get<bool>();
}

void read_value(const Json& json, const Place& place, double& target) {
  if (!json.is_number() || json.get<double>() < 0) throw place.cannot_be(json);
  target = json.get<double>();
}

void read_value(const Json& json, const Place& place, Bytes& target) {
  if (!json.is_number_unsigned()) throw place.cannot_be(json);
  target = json.get<Bytes>();
}

void read_value(const Json& json, const Place& place, Size& target) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > kLargestCount)
    throw place.cannot_be(json);
  target = json.get<Size>();
}

// Below the overloads for their members and elements: unnamed namespaces are not searched by
// argument.
void read_value(const Json& json, const Place& place, SliceRecord& slice);
void read_value(const Json& json, const Place& place, RepetitionRecord& repetition);
void read_value(const Json& json, const Place& place, PlacementRecord& placement);
void read_value(const Json& json, const Place& place, RankRecord& rank);
void read_value(const Json& json, const Place& place, WarningRecord& warning);
void read_value(const Json& json, const Place& place, DeviceRecord& device);
void read_value(const Json& json, const Place& place, GeneratorRecord& generator);
void read_value(const Json& json, const Place& place, HostRecord& host);
void read_value(const Json& json, const Place& place, CpuRecord& cpu);
void read_value(const Json& json, const Place& place, EnvironmentRecord& environment);
void read_value(const Json& json, const Place& place, SamplesRecord& samples);

/// Numbers that JSON lacks are null in a list.
void read_value(const Json& json, const Place& place, std::vector<double>& target) {
  if (!json.is_array()) throw place.cannot_be(json);
  target.reserve(json.size());
  for (const Json& number : json) {
    if (!number.is_number() && !number.is_null())
      throw Place(place, target.size()).cannot_be(number);
    target.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                      : number.get<double>());
  }
}

template <class T>
void read_value(const Json& json, const Place& place, std::optional<T>& target) {
  read_value(json, place, target.emplace());
}

template <class T>
void read_value(const Json& json, const Place& place, std::vector<T>& target) {
  if (!json.is_array()) throw place.cannot_be(json);
  target.reserve(json.size());
  for (const Json& element : json) {
    const Place where(place, target.size());
    read_value(element, where, target.emplace_back());
  }
}

template <class T>
void read_value(const Json& json, const Place& place, std::map<std::string, T>& target) {
  require_object(json, place);
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>())
    read_value(value, Place(place, key), target[key]);
}

bool is_step_time(const Json& json) {
  return json.is_number() && json.get<double>() >= kShortestStep &&
         json.get<double>() <= kLongestSeconds;
}

/// The value of `key`; null where it is missing or null.
const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

template <class T>
void read_member(const Json& object, std::string_view key, const Place& place, T& target) {
  if (const Json* const value = find(object, key)) read_value(*value, Place(place, key), target);
}

void read_step_time(const Json& object, std::string_view key, const Place& place,
                    std::optional<double>& target) {
  const Json* const value = find(object, key);
  if (value == nullptr) return;
  if (!is_step_time(*value)) throw Place(place, key).cannot_be(*value);
  target = value->get<double>();
}

void read_step_times(const Json& object, std::string_view key, const Place& place,
                     std::vector<double>& target) {
  read_member(object, key, place, target);
  const auto is_wrong = [](double seconds) {
    return seconds < kShortestStep || seconds > kLongestSeconds;
  };
  const auto wrong = std::ranges::find_if(target, is_wrong);
  if (wrong == target.end()) return;
  const auto index = static_cast<std::size_t>(wrong - target.begin());
  throw Place(Place(place, key), index).cannot_be(object.at(std::string(key)).at(index));
}

void read_value(const Json& json, const Place& place, SliceRecord& slice) {
  require_object(json, place);
  read_member(json, "repetition", place, slice.repetition);
  read_member(json, "first", place, slice.first);
  read_member(json, "count", place, slice.count);
  read_member(json, "clean", place, slice.clean);
  read_step_time(json, "median_seconds", place, slice.median_seconds);
  read_member(json, "core_latency_seconds", place, slice.core_latency_seconds);
  read_member(json, "placement", place, slice.placement);
  read_member(json, "foreign_cpu_fraction", place, slice.foreign_cpu_fraction);
  read_member(json, "steal_fraction", place, slice.steal_fraction);
  read_member(json, "frequency_hertz", place, slice.frequency_hertz);
  read_member(json, "turn", place, slice.turn);
}

void read_value(const Json& json, const Place& place, RepetitionRecord& repetition) {
  require_object(json, place);
  read_step_time(json, "median_seconds", place, repetition.median_seconds);
  read_member(json, "placement", place, repetition.placement);
  read_member(json, "clean_slices", place, repetition.clean_slices);
  read_step_time(json, "lower_quartile_seconds", place, repetition.lower_quartile_seconds);
  read_step_time(json, "mean_seconds", place, repetition.mean_seconds);
  read_member(json, "started_unix_seconds", place, repetition.started_unix_seconds);
  read_member(json, "lockstep", place, repetition.lockstep);
}

void read_value(const Json& json, const Place& place, PlacementRecord& placement) {
  require_object(json, place);
  read_step_time(json, "median", place, placement.median_seconds);
  read_member(json, "repetitions", place, placement.repetitions);
}

void read_value(const Json& json, const Place& place, RankRecord& rank) {
  require_object(json, place);
  read_member(json, "rank", place, rank.rank);
  read_member(json, "host", place, rank.host);
  read_member(json, "device", place, rank.device);
  read_member(json, "compute_seconds", place, rank.compute_seconds);
  read_member(json, "wait_seconds", place, rank.wait_seconds);
  read_member(json, "peak_memory_bytes", place, rank.peak_memory_bytes);
}

void read_value(const Json& json, const Place& place, WarningRecord& warning) {
  require_object(json, place);
  read_member(json, "code", place, warning.code);
  read_member(json, "message", place, warning.message);
  read_member(json, "remedy", place, warning.remedy);
}

void read_value(const Json& json, const Place& place, DeviceRecord& device) {
  require_object(json, place);
  read_member(json, "id", place, device.id);
  read_member(json, "name", place, device.name);
  read_member(json, "memory_bytes", place, device.memory_bytes);
}

void read_value(const Json& json, const Place& place, GeneratorRecord& generator) {
  require_object(json, place);
  read_member(json, "name", place, generator.name);
  read_member(json, "version", place, generator.version);
  read_member(json, "git_commit", place, generator.git_commit);
  read_member(json, "build_type", place, generator.build_type);
}

void read_value(const Json& json, const Place& place, HostRecord& host) {
  require_object(json, place);
  read_member(json, "name", place, host.name);
  read_member(json, "os", place, host.os);
  read_member(json, "kernel", place, host.kernel);
}

void read_value(const Json& json, const Place& place, CpuRecord& cpu) {
  require_object(json, place);
  read_member(json, "model", place, cpu.model);
  read_member(json, "cores", place, cpu.cores);
  read_member(json, "isa", place, cpu.isa);
}

void read_value(const Json& json, const Place& place, EnvironmentRecord& environment) {
  require_object(json, place);
  read_member(json, "host", place, environment.host);
  read_member(json, "cpu", place, environment.cpu);
  read_member(json, "memory_bytes", place, environment.memory_bytes);
  read_member(json, "devices", place, environment.devices);
  read_member(json, "libraries", place, environment.libraries);
  read_member(json, "variables", place, environment.variables);
}

void read_value(const Json& json, const Place& place, SamplesRecord& samples) {
  require_object(json, place);
  read_step_times(json, "step_seconds", place, samples.step_seconds);
  read_member(json, "slices", place, samples.slices);
  read_member(json, "repetitions", place, samples.repetitions);
}

/// Files may leave step_seconds out, which take most of the room; but then all of them.
void check_slices(const SamplesRecord& samples, const Json& json, const Place& place) {
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

void read_lists(const Json& json, const Place& place, RunRecord& run) {
  if (const Json* const workload = find(json, "workload"))
    read_member(*workload, "input_shape", Place(place, "workload"), run.workload.input_shape);
  if (const Json* const strategy = find(json, "strategy"))
    read_member(*strategy, "devices", Place(place, "strategy"), run.strategy.devices);
  if (const Json* const data = find(json, "data")) {
    read_member(*data, "mean", Place(place, "data"), run.data.mean);
    read_member(*data, "std", Place(place, "data"), run.data.standard_deviation);
  }
  read_member(json, "samples", place, run.samples);
  check_slices(run.samples, json, place);
  if (const Json* const seconds = find(json, "step_seconds"))
    read_member(*seconds, "by_placement", Place(place, "step_seconds"),
                run.step_seconds.by_placement);
  read_member(json, "ranks", place, run.ranks);
  read_member(json, "warnings", place, run.warnings);
}

FieldValue field_value(const Json& json, const Place& place) {
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::string: return json.get_ref<const std::string&>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::number_unsigned:
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

void read_field(const Field& field, const Json& json, const Place& place, RunRecord& run) {
  if (json.is_number() && is_absurd(field, json.get<double>())) throw place.cannot_be(json);
  if (!field.set(run, field_value(json, place))) throw place.cannot_be(json);
}

void read_interval(const Field& low, const Field& high, const Json& json, const Place& place,
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

Error Place::cannot_be(const Json& value) const {
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
    node = found != node->children.end()
               ? &*found
               : &node->children.emplace_back(Node{.key = key, .children = {}});
  }
  (field.bound() == Bound::high ? node->high : node->field) = &field;
}

void RunReader::read(const Node& node, const Json& json, const Place& place, RunRecord& run) {
  require_object(json, place);
  for (const Node& child : node.children) {
    const Json* const value = find(json, child.key);
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

RunRecord RunReader::read(const Json& json, const Place& place, int schema_version) const {
  require_object(json, place);
  for (const char* const key : {"id", "status"})
    if (find(json, key) == nullptr) throw Place(place, key).cannot_be(nullptr);
  RunRecord run;
  if (find(json, "energy") != nullptr) run.energy.emplace();
  if (find(json, "accuracy") != nullptr) run.accuracy.emplace();
  if (find(json, "scaling") != nullptr) run.scaling.emplace();
  read(root_, json, place, run);
  read_lists(json, place, run);
  if (run.id.empty()) throw Place(place, "id").cannot_be("");
  if (schema_version == 1)
    run.compute.effective_utilization = std::exchange(run.compute.utilization, std::nullopt);
  return run;
}

ResultFile read_frame(const Json& json, const Place& place) {
  ResultFile file;
  read_member(json, "generator", place, file.generator);
  read_member(json, "created", place, file.created);
  read_member(json, "command", place, file.command);
  read_member(json, "environment", place, file.environment);
  read_member(json, "accepted", place, file.accepted);
  return file;
}

}  // namespace ptbench

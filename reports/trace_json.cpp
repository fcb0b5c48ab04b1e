#include "reports/trace_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reports/json_text.h"
#include "reports/trace_rows.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

Json steps_of(const TraceOrigin& origin, const TraceRecorder& recorder) {
  const std::vector<TracedStep> whole = recorder.whole_steps();
  Json steps = Json::object();
  steps["first"] = whole.empty() ? Json(nullptr) : Json(whole.front().number);
  steps["count"] = whole.size();
  steps["asked"] = origin.window.count;  // one more is traced
  steps["cut"] = recorder.is_cut();
  return steps;
}

/// In the order of Kineto's: the rank comes before any other text that looks like one.
Json head_of(const TraceOrigin& origin, const TraceRecorder& recorder,
             const ActivityLog* activity) {
  Json devices = Json::array();
  for (std::size_t replica = 0; replica < recorder.tracks().size(); ++replica)
    devices.push_back({{"id", replica}, {"name", fmt::format("{} replica", origin.device)}});
  Json own{{"schema", kTraceSchema},
           {"version", origin.version},
           {"run", origin.run},
           {"clock", origin.is_emulated ? "none" : origin.clock.identity},
           {"steps", steps_of(origin, recorder)}};
  if (activity != nullptr)
    own["activity"] = {{"source", activity->source},
                       {"lost", activity->lost},
                       {"without_call", activity->without_call}};
  else if (!origin.activity_gap.empty())
    own["activity"] = {{"reason", single_line(origin.activity_gap)}};
  if (origin.is_emulated) own["emulated"] = true;
  return {{"schemaVersion", 1},
          {"distributedInfo",
           {{"backend", origin.communicator},
            {"rank", origin.rank},
            {"world_size", origin.world_size}}},
          {"deviceProperties", std::move(devices)},
          {"displayTimeUnit", "ms"},
          {"baseTimeNanoseconds", origin.is_emulated ? 0 : origin.clock.unix_at_zero},
          {"traceName", origin.run},
          {"ptbench", std::move(own)}};
}

/// Texts are UTF-8.
class Lines {
 public:
  void add(const Json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event.dump();
  }

  /// What a viewer calls a process or one of its lines, whose number it shows after that.
  void name(Size process, Size line, const char* what, const std::string& name) {
    Json event{{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", line}, {"ts", 0}};
    event["args"] = {{"name", name}};
    add(event);
  }
  void sort(Size process, Size line, const char* what, Size index) {
    Json event{{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", line}, {"ts", 0}};
    event["args"] = {{"sort_index", index}};
    add(event);
  }

  void add(const TraceRow& row) {
    Json event{{"ph", "X"},
               {"cat", row.category},
               {"name", row.name},
               {"pid", row.process},
               {"tid", row.line},
               {"ts", microseconds(row.begin)},
               {"dur", microseconds(row.end - row.begin)}};
    if (!row.args.empty()) event["args"] = row.args;
    add(event);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void name_process(const TraceOrigin& origin, std::size_t tracks, Lines& lines) {
  const Size process = process_of(origin.rank);
  lines.name(process, 0, "process_name",
             valid_utf8(fmt::format("rank {}: {}", origin.rank, origin.run)));
  lines.sort(process, 0, "process_sort_index", process);
  for (std::size_t track = 0; track < tracks; ++track) {
    lines.name(
        process, thread_of(track), "thread_name",
        track == 0 ? std::string("steps, thread") : fmt::format("replica {}, thread", track));
    lines.sort(process, thread_of(track), "thread_sort_index", thread_of(track));
  }
}

void name_device(const TraceOrigin& origin, Size replica, bool has_activity, Lines& lines) {
  const Size device = device_of(origin.rank, replica);
  lines.name(
      device, 0, "process_name",
      valid_utf8(fmt::format("rank {}: {}, replica {}", origin.rank, origin.device, replica)));
  lines.sort(device, 0, "process_sort_index", device);
  for (const auto& [stream, what] : {std::pair(kComputeStream, "computation"),
                                     std::pair(kCommunicationStream, "communication")}) {
    const Size line = stream + kStreamsOfReplica * replica + (has_activity ? kFirstAnnotation : 0);
    lines.name(device, line, "thread_name", fmt::format("{}, stream", what));
    lines.sort(device, line, "thread_sort_index", line);
  }
}

}  // namespace

std::string to_trace_json(const TraceOrigin& origin, const TraceRecorder& recorder,
                          const ActivityLog* activity) {
  Lines lines;
  name_process(origin, recorder.tracks().size(), lines);
  for (std::size_t replica = 0; replica < recorder.tracks().size(); ++replica)
    name_device(origin, static_cast<Size>(replica), activity != nullptr, lines);
  std::vector<TraceRow> rows = trace_rows(recorder,
                                          {.rank = origin.rank,
                                           .world_size = origin.world_size,
                                           .device_numbers = origin.device_numbers},
                                          activity);
  origin.is_emulated ? keep_order_only(rows) : keep_whole_microseconds(rows);
  for (const TraceRow& row : rows) lines.add(row);
  return trace_text(head_of(origin, recorder, activity), lines.text());
}

std::string trace_text(const Json& head, std::string_view lines) {
  std::string text = json_text(head);  // with a blank after each colon, which readers rely on
  text.erase(text.rfind('\n'));
  text += ",\n  \"traceEvents\": [\n";
  text += lines;
  text += "\n  ]\n}\n";
  return text;
}

}  // namespace ptbench

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <tuple>
#include <utility>

#include "reports/trace_json.h"
#include "reports/trace_merge.h"
#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using ParsedJson = nlohmann::json;

constexpr InputRule kTraceRule{.largest = Bytes{512} << 20U};
constexpr Size kMostRanks = 1'000'000;
constexpr double kLongest = 1e15;  // microseconds

/// Kernels that no rank finishes before all have started them.
constexpr std::array<std::string_view, 4> kMeetings{"ncclKernel_AllReduce",
                                                    "ncclKernel_ReduceScatter",
                                                    "ncclKernel_AllGather", "ncclKernel_Barrier"};

Error trace_error(const std::string& file, const std::string& what) {
  return usage_error(fmt::format("trace '{}' {}", single_line(file), what),
                     "name a folder that holds what ptbench run --trace wrote, and nothing else");
}

/// Whether arrays and objects are nested deeper than in any trace; what is written as JSON again is
/// written recursively.
bool is_too_deep(std::string_view text) {
  constexpr int kDeepestTrace = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string && letter == '\\') ++i;
    if (letter == '"') in_string = !in_string;
    if (in_string) continue;
    if ((letter == '[' || letter == '{') && ++depth > kDeepestTrace) return true;
    if (letter == ']' || letter == '}') --depth;
  }
  return false;
}

/// What is read of a trace, but for its events, with its file for messages.
class Reader {
 public:
  Reader(const ParsedJson& document, const std::string& file) : document_(document), file_(file) {}

  RankTrace read() {
    RankTrace trace;
    trace.file = file_;
    const ParsedJson& own = member(document_, "ptbench");
    if (text(own, "schema") != kTraceSchema)
      fail(fmt::format("has another \"schema\" than {}, which this ptbench reads", kTraceSchema));
    if (own.contains("emulated"))
      throw usage_error(fmt::format("trace '{}' is of an emulated device, which has no times",
                                    single_line(file_)),
                        "merge traces of a run on real devices");
    const ParsedJson& place = member(document_, "distributedInfo");
    trace.rank = whole(place, "rank", 0);
    trace.world_size = whole(place, "world_size", 1);
    trace.run = text(own, "run");
    trace.clock = text(own, "clock");
    trace.unix_time = member(document_, "baseTimeNanoseconds");
    if (!trace.unix_time.is_number_integer())
      fail("has a baseTimeNanoseconds that is not a number");
    const ParsedJson& events = member(document_, "traceEvents");
    if (!events.is_array()) fail("has traceEvents that are not an array");
    for (const ParsedJson& event : events) read(event, trace);
    std::ranges::sort(trace.collectives, {}, [](const RankCollective& each) {
      return std::tuple(each.number, each.started);
    });
    return trace;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw trace_error(file_, what); }

  [[nodiscard]] const ParsedJson& member(const ParsedJson& object, const char* key) const {
    if (!object.is_object()) fail("was not written by ptbench run --trace");
    const auto found = object.find(key);
    if (found == object.end())
      fail(fmt::format("was not written by ptbench run --trace: it has no \"{}\"", key));
    return *found;
  }

  [[nodiscard]] std::string text(const ParsedJson& object, const char* key) const {
    const ParsedJson& value = member(object, key);
    if (!value.is_string()) fail(fmt::format("has a \"{}\" that is not a string", key));
    return value.get<std::string>();
  }

  [[nodiscard]] Size whole(const ParsedJson& object, const char* key, Size least) const {
    const ParsedJson& value = member(object, key);
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= kMostRanks &&
                      static_cast<Size>(value.get<std::uint64_t>()) >= least;
    if (!fits) fail(fmt::format("has a \"{}\" that is not a whole number, or too large", key));
    return static_cast<Size>(value.get<std::uint64_t>());
  }

  [[nodiscard]] double time(const ParsedJson& object, const char* key) const {
    const ParsedJson& value = member(object, key);
    const double number = value.is_number() ? value.get<double>() : 2 * kLongest;
    if (std::abs(number) > kLongest)
      fail(fmt::format("has an event whose \"{}\" is not a time", key));
    return number;
  }

  void read(const ParsedJson& event, RankTrace& trace) const {
    if (!event.is_object()) fail("has traceEvents that are not objects");
    (void)time(event, "ts");
    (void)text(event, "ph");
    const std::string name = text(event, "name");
    if (std::ranges::find(kMeetings, name) == kMeetings.end()) return;
    const ParsedJson& args = member(event, "args");
    if (!args.is_object() || !args.contains("Seq")) return;  // between replicas of a process
    trace.collectives.push_back({.number = whole(args, "Seq", 0),
                                 .name = name,
                                 .started = 1e-6 * time(args, "started"),
                                 .finished = 1e-6 * time(args, "finished")});
  }

  const ParsedJson& document_;
  const std::string& file_;
};

std::string whole_text(const fs::path& path) {
  return read_input(path, kTraceRule, [&](const InputProblem& problem) {
    return trace_error(path.string(), problem.predicate);
  });
}

}  // namespace

RankTrace read_trace(std::string_view text, const std::string& file) {
  if (is_too_deep(text)) throw trace_error(file, "is damaged: it is nested without end");
  ParsedJson document;
  try {
    document = ParsedJson::parse(text);
  } catch (const ParsedJson::parse_error& error) {
    throw trace_error(file, fmt::format("is damaged: it is not JSON from byte {} on", error.byte));
  } catch (const ParsedJson::out_of_range&) {
    throw trace_error(file, "is damaged: a number in it is too large");
  }
  RankTrace trace = Reader(document, file).read();
  trace.events = std::move(document["traceEvents"]);
  return trace;
}

RankTrace read_trace_file(const fs::path& path) {
  try {
    return read_trace(whole_text(path), path.string());
  } catch (const std::bad_alloc&) {
    throw trace_error(path.string(), "needs more memory than there is");
  }
}

}  // namespace ptbench

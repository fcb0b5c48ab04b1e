#include "reports/trace_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "reports/trace_json.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using ParsedJson = nlohmann::json;

void require_one_run(const std::vector<RankTrace>& traces) {
  constexpr const char* kRemedy = "name a folder that holds the traces of one run, all of them";
  const auto fail = [](const std::string& what) { throw usage_error(what, kRemedy); };
  const RankTrace& first = traces.front();
  for (const RankTrace& trace : traces)
    if (trace.run != first.run || trace.world_size != first.world_size)
      fail(fmt::format("'{}' and '{}' are of different runs", single_line(first.file),
                       single_line(trace.file)));
  for (std::size_t i = 1; i < traces.size(); ++i)
    if (traces[i].rank == traces[i - 1].rank)
      fail(fmt::format("'{}' and '{}' are both of rank {}", single_line(traces[i - 1].file),
                       single_line(traces[i].file), traces[i].rank));
  for (std::size_t i = 0; i < traces.size(); ++i)
    if (traces[i].rank != static_cast<Size>(i))
      fail(fmt::format("the trace of rank {} of {} is missing", i, first.world_size));
  if (static_cast<Size>(traces.size()) != first.world_size)
    fail(fmt::format("the trace of rank {} of {} is missing", traces.size(), first.world_size));
}

/// Where one rank's trace was cut, the other has more.
std::size_t in_common(const RankTrace& base, const RankTrace& other) {
  const std::size_t count = std::min(base.collectives.size(), other.collectives.size());
  for (std::size_t i = 0; i < count; ++i) {
    const RankCollective& a = base.collectives[i];
    const RankCollective& b = other.collectives[i];
    if (a.number != b.number || a.name != b.name)
      throw usage_error(
          fmt::format(
              "'{}' and '{}' are of different steps: collective {} ({}) of one is {} ({}) of "
              "the other",
              single_line(base.file), single_line(other.file), a.number, a.name, b.number, b.name),
          "name a folder that holds the traces of one run, all of them");
  }
  return count;
}

ClockOffset offset_of(const RankTrace& base, const RankTrace& other) {
  ClockOffset offset{.rank = other.rank,
                     .same_clock = other.clock == base.clock,
                     .collectives = in_common(base, other)};
  if (offset.collectives == 0) {
    if (offset.same_clock) return offset;
    throw usage_error(
        fmt::format(
            "'{}' and '{}' have different clocks, and no collective in common to compare them by",
            single_line(base.file), single_line(other.file)),
        "trace more steps, with --trace-steps");
  }
  std::vector<double> differences;
  double at_least = -std::numeric_limits<double>::infinity();
  double at_most = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < offset.collectives; ++i) {
    const RankCollective& a = base.collectives[i];
    const RankCollective& b = other.collectives[i];
    differences.push_back(b.finished - a.finished);
    at_least = std::max(at_least, b.started - a.finished);
    at_most = std::min(at_most, b.finished - a.started);
  }
  offset.estimate = median(differences);
  const bool agrees = at_least <= at_most;
  if (agrees) {
    offset.at_least = at_least;
    offset.at_most = at_most;
  }
  offset.same_clock = offset.same_clock && (!agrees || (at_least <= 0 && at_most >= 0));
  if (!offset.same_clock)
    offset.seconds = agrees ? std::clamp(*offset.estimate, at_least, at_most) : *offset.estimate;
  return offset;
}

/// By rank 0's clock. A whole number of microseconds away, so that whole ones stay whole: clocks
/// are not told apart by less.
double shifted(double microseconds, double seconds) {
  return std::round(1e3 * (microseconds - std::round(1e6 * seconds))) / 1e3;
}

}  // namespace

std::vector<ClockOffset> compare_clocks(std::vector<RankTrace>& traces) {
  ensure(!traces.empty(), "there are traces to compare");
  std::ranges::sort(traces, {},
                    [](const RankTrace& trace) { return std::tuple(trace.rank, trace.file); });
  require_one_run(traces);
  std::vector<ClockOffset> offsets{{.rank = 0, .collectives = traces.front().collectives.size()}};
  for (std::size_t rank = 1; rank < traces.size(); ++rank)
    offsets.push_back(offset_of(traces.front(), traces[rank]));
  return offsets;
}

std::string merge_traces(const std::vector<RankTrace>& traces,
                         const std::vector<ClockOffset>& offsets) {
  std::string lines;
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (const ParsedJson& event : traces[i].events) {
      ParsedJson placed = event;
      if (placed.value("ph", "") != "M")
        placed["ts"] = shifted(event.at("ts").get<double>(), offsets[i].seconds);
      lines += lines.empty() ? "" : ",\n";
      lines += placed.dump(-1, ' ', false, ParsedJson::error_handler_t::replace);
    }
  nlohmann::ordered_json clocks = nlohmann::ordered_json::array();
  for (const ClockOffset& offset : offsets)
    clocks.push_back({{"of", fmt::format("rank {}", offset.rank)},
                      {"offset_seconds", offset.seconds},
                      {"same_clock", offset.same_clock}});
  return trace_text({{"schemaVersion", 1},
                     {"displayTimeUnit", "ms"},
                     {"baseTimeNanoseconds", traces.front().unix_time},
                     {"traceName", traces.front().run},
                     {"ptbench",
                      {{"schema", "ptbench.merged-trace/1"},
                       {"run", traces.front().run},
                       {"clock", traces.front().clock},
                       {"offsets", std::move(clocks)}}}},
                    lines);
}

}  // namespace ptbench

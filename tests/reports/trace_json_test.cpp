#include "reports/trace_json.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>
#include <vector>

#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"
#include "tests/reports/traced.h"

namespace ptbench::testing {
namespace {

using nlohmann::json;

json parsed(const std::string& text) { return json::parse(text); }

std::vector<json> rows_of(const json& trace, const std::string& category) {
  std::vector<json> rows;
  for (const json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category) rows.push_back(event);
  return rows;
}

std::vector<json> kernels_on(const json& trace, int stream) {
  std::vector<json> rows;
  for (const json& row : rows_of(trace, "kernel"))
    if (row.at("tid") == stream) rows.push_back(row);
  return rows;
}

/// The rows of each line are in the order of time, and nest or follow each other.
void check_lines(const json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> open;
  std::map<std::pair<int, int>, double> last;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    CAPTURE(event.dump());
    const std::pair line(event.at("pid").get<int>(), event.at("tid").get<int>());
    const double begin = event.at("ts");
    const double duration = event.at("dur");
    const double end = begin + duration;
    CHECK(duration >= 0);
    CHECK(begin >= last[line]);
    last[line] = begin;
    auto& stack = open[line];
    constexpr double kRounding = 1e-9;
    while (!stack.empty() && stack.back().second <= begin + kRounding && end > begin)
      stack.pop_back();
    if (!stack.empty()) CHECK(end <= stack.back().second + kRounding);
    if (end > begin) stack.emplace_back(begin, end);
  }
}

TEST_CASE("a trace as JSON", "[reports]") {
  CHECK(to_trace_json(origin_of_rank(1), traced_rank()) == golden("trace.json"));
}

TEST_CASE("a trace does not depend on the locale", "[reports]") {
  const CommaLocale locale;
  CHECK(to_trace_json(origin_of_rank(1), traced_rank()) == golden("trace.json"));
}

TEST_CASE("readers find the rank as they look for it, before the events", "[reports]") {
  const std::string text = to_trace_json(origin_of_rank(1), traced_rank());
  const std::regex rank("\"rank\":\\s+(\\d+)");
  std::smatch found;
  REQUIRE(std::regex_search(text, found, rank));
  CHECK(found[1] == "1");
  CHECK(static_cast<std::size_t>(found.position()) < text.find("\"traceEvents\""));
  const std::string rest = found.suffix();
  CHECK_FALSE(std::regex_search(rest, rank));
}

TEST_CASE("steps are annotations that a profiler's are called by", "[reports]") {
  const json trace = parsed(to_trace_json(origin_of_rank(0), traced_rank()));
  const auto steps = rows_of(trace, "user_annotation");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].at("name") == "ProfilerStep#11");
  CHECK(steps[1].at("name") == "ProfilerStep#12");
  CHECK(steps[0].at("ts") == 1000.0);
  CHECK(steps[0].at("dur") == 98.0);
  CHECK(trace.at("ptbench").at("steps").dump() ==
        R"({"asked":1,"count":2,"cut":false,"first":11})");
}

TEST_CASE("the rows of each line nest or follow each other", "[reports]") {
  check_lines(parsed(to_trace_json(origin_of_rank(0), traced_rank())));
}

TEST_CASE("every kernel was launched by a thread of the same rank", "[reports]") {
  const json trace = parsed(to_trace_json(origin_of_rank(0), traced_rank()));
  std::map<int, double> launches;
  for (const json& row : rows_of(trace, "cuda_runtime")) {
    CHECK(row.at("name") == "cudaLaunchKernel");
    CHECK(launches.emplace(row.at("args").at("correlation"), row.at("ts")).second);
  }
  const auto kernels = rows_of(trace, "kernel");
  CHECK(kernels.size() == launches.size());
  for (const json& kernel : kernels) {
    CAPTURE(kernel.dump());
    const auto launch = launches.find(kernel.at("args").at("correlation").get<int>());
    REQUIRE(launch != launches.end());
    CHECK(launch->second < kernel.at("ts").get<double>());
    CHECK(kernel.at("args").at("stream") == kernel.at("tid"));
    CHECK(kernel.at("args").at("stream") > 0);
  }
}

TEST_CASE("a stream computes while no phase interrupts a phase", "[reports]") {
  const auto kernels = kernels_on(parsed(to_trace_json(origin_of_rank(0), traced_rank())), 7);
  // forward; backward before, between and after two buckets; two updates; of two steps.
  REQUIRE(kernels.size() == 12);
  CHECK(kernels[0].at("name") == "forward");
  const std::vector<std::pair<double, double>> backward{{1026, 15}, {1042, 9}, {1052, 9}};
  for (std::size_t part = 0; part < backward.size(); ++part) {
    const json& row = kernels[1 + part];
    CHECK(row.at("name") == "backward");
    CHECK(row.at("ts") == backward[part].first);
    CHECK(row.at("dur") == backward[part].second);
  }
  CHECK(kernels[4].at("name") == "optimizer");
}

TEST_CASE("collectives follow each other on their stream", "[reports]") {
  const auto rows = kernels_on(parsed(to_trace_json(origin_of_rank(0), traced_rank())), 20);
  REQUIRE(rows.size() == 8);
  struct Expected {
    const char* name;
    double begin;
    double duration;
  };
  const std::vector<Expected> expected{
      {"ncclKernel_ReduceScatter", 1041, 24},  // until it is waited for
      {"ncclKernel_ReduceScatter", 1065, 10},  // started before, but after the first
      {"ncclKernel_AllGather", 1075, 10},      // half of 21 that one wait ended for both
      {"ncclKernel_AllGather", 1085, 11}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(rows[i].at("name") == expected[i].name);
    CHECK(rows[i].at("ts") == expected[i].begin);
    CHECK(rows[i].at("dur") == expected[i].duration);
    CHECK(rows[i].at("args").at("Seq") == i);
  }
  CHECK(rows[1].at("args").at("started") == 1050.0);
  CHECK(rows[1].at("args").at("finished") == 1074.0);
  CHECK(rows[2].at("args").at("finished") == 1095.0);
  CHECK(rows[0].at("args").at("bytes") == 400);
}

TEST_CASE("a collective is shown as long as a device did it", "[reports]") {
  TraceRecorder recorder(1, 1);
  TraceTrack& track = recorder.track(0);
  track.begin_step(1, 1);
  track.start_collective({.bytes = 64}, 2, TimeSpan{.begin = 1.5, .end = 3});
  track.start_collective({.bytes = 64}, 4, TimeSpan{.begin = 5, .end = 6});
  track.start_collective({.bytes = 64}, 4);
  track.start_collective({.bytes = 64}, 4, TimeSpan{.begin = 7, .end = 7.5});
  track.finish_collectives(4, 8);
  track.end_step(9);
  const json trace = parsed(to_trace_json(origin_of_rank(0), recorder));
  check_lines(trace);
  const auto rows = kernels_on(trace, 20);
  const auto launches = rows_of(trace, "cuda_runtime");
  REQUIRE(rows.size() == 4);
  REQUIRE(launches.size() == 4);
  CHECK(rows[0].at("ts") == 1'500'001.0);
  CHECK(rows[0].at("dur") == 1.5e6);
  CHECK(rows[0].at("args").at("started") == 2e6);
  CHECK(launches[0].at("ts") == 1.5e6);  // no later than what it launched
  CHECK(rows[1].at("ts") == 5'000'001.0);
  CHECK(rows[1].at("dur") == 1e6);
  CHECK(rows[1].at("args").at("finished") == 8e6);
  CHECK(launches[1].at("ts") == 4e6);
}

TEST_CASE("rows have whole microseconds, and shorter ones none", "[reports]") {
  TraceRecorder recorder(1, 1);
  TraceTrack& track = recorder.track(0);
  track.begin_step(1, 1);
  track.enter(StepPhase::forward, 0, 1 + 10.2e-6);
  track.leave(1 + 10.8e-6);
  track.enter(StepPhase::optimizer, 0, 1 + 10.8e-6);
  track.leave(1 + 13.1e-6);
  track.end_step(2);
  const json trace = parsed(to_trace_json(origin_of_rank(0), recorder));
  const auto kernels = kernels_on(trace, 7);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].at("ts") == 1'000'011.0);
  CHECK(kernels[0].at("dur") == 0.0);
  CHECK(kernels[1].at("ts") == 1'000'011.0);
  CHECK(kernels[1].at("dur") == 3.0);
  const auto phases = rows_of(trace, "cpu_op");
  const auto launches = rows_of(trace, "cuda_runtime");
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(phases.at(row).at("ts") == 1'000'010.0);
    CHECK(phases.at(row).at("dur") == kernels[row].at("dur"));
    CHECK(launches.at(row).at("ts") == 1'000'010.0);
    CHECK(launches.at(row).at("dur") == 0.0);
  }
  check_lines(trace);
}

TEST_CASE("replicas of one process have threads, devices and streams of their own", "[reports]") {
  TraceRecorder recorder(2, 1);
  recorder.track(0).begin_step(1, 1);
  recorder.track(0).enter(StepPhase::forward, 0, 2);
  recorder.track(0).enter(StepPhase::wait, 0, 3);
  recorder.track(0).leave(4);
  recorder.track(0).leave(4);
  recorder.track(0).enter(StepPhase::gather, 64, 4);
  recorder.track(0).leave(5);
  recorder.track(0).end_step(6);
  recorder.track(1).enter(StepPhase::forward, 0, 2);
  recorder.track(1).leave(4);
  const json trace = parsed(to_trace_json(origin_of_rank(0), recorder));
  check_lines(trace);
  const auto of_master = kernels_on(trace, 7);
  REQUIRE(of_master.size() == 1);
  CHECK(of_master[0].at("dur") == 1e6);  // waiting is no computation
  const auto of_other = kernels_on(trace, 107);
  REQUIRE(of_other.size() == 1);
  CHECK(of_other[0].at("dur") == 2e6);
  CHECK(of_other[0].at("pid") != of_master[0].at("pid"));
  CHECK(kernels_on(trace, 20).at(0).at("name") == "ncclKernel_Gather");
  CHECK(rows_of(trace, "cpu_op").size() == 4);
}

TEST_CASE("only whole steps are written", "[reports]") {
  TraceRecorder recorder(1, 3, 2);
  TraceTrack& track = recorder.track(0);
  for (int step = 0; step < 3; ++step) {
    track.begin_step(step + 1, 10 * step);
    track.enter(StepPhase::forward, 0, 10 * step + 1);
    track.leave(10 * step + 2);
    track.end_step(10 * step + 3);
  }
  const json trace = parsed(to_trace_json(origin_of_rank(0), recorder));
  CHECK(rows_of(trace, "user_annotation").size() == 2);
  CHECK(rows_of(trace, "cpu_op").size() == 2);
  CHECK(trace.at("ptbench").at("steps").at("cut") == true);
}

TEST_CASE("a trace of nothing is one too", "[reports]") {
  const json trace = parsed(to_trace_json(origin_of_rank(0), TraceRecorder(1, 3)));
  CHECK(rows_of(trace, "kernel").empty());
  CHECK(trace.at("ptbench").at("steps").at("first").is_null());
}

TEST_CASE("names from outside cannot break a trace", "[reports]") {
  TraceOrigin origin = origin_of_rank(0);
  origin.run = "a\"b\n\xff\x9b\\/ \"rank\": 7 <script>";
  const std::string text = to_trace_json(origin, traced_rank());
  const json trace = parsed(text);
  CHECK(trace.at("distributedInfo").at("rank") == 0);
  const std::regex rank("\"rank\":\\s+(\\d+)");
  std::smatch found;
  REQUIRE(std::regex_search(text, found, rank));
  CHECK(found[1] == "0");
}

}  // namespace
}  // namespace ptbench::testing

// Traces with what a device was seen to do, and traces of devices without times.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "reports/trace_json.h"
#include "reports/trace_merge.h"
#include "src/base/activity_log.h"
#include "tests/reports/traced.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::json;

/// In the first step of `traced_rank` a kernel and a copy; before it another kernel.
ActivityLog activity() {
  const auto work = [](ActivityKind kind, const char* name, std::uint32_t correlation,
                       double begin_micros, Size line) {
    return DeviceActivity{.kind = kind,
                          .name = name,
                          .correlation = correlation,
                          .begin = 1e-6 * begin_micros,
                          .end = 1e-6 * (begin_micros + 2),
                          .device = 3,
                          .line = line,
                          .bytes = Bytes{kind == ActivityKind::copy ? 512U : 0U}};
  };
  return {.source = "CUPTI 13",
          .activities = {work(ActivityKind::call, "cudaLaunchKernel", 1, 900, 77),
                         work(ActivityKind::kernel, "early", 1, 1010, 9),
                         work(ActivityKind::call, "cudaLaunchKernel", 2, 1006, 77),
                         work(ActivityKind::kernel, "scale", 2, 1012, 9),
                         work(ActivityKind::call, "cuMemcpyAsync", 3, 1008, 77),
                         work(ActivityKind::copy, "Memcpy HtoD (Pinned -> Device)", 3, 1015, 13)},
          .lost = 4,
          .without_call = 2};
}

std::vector<json> rows_of_category(const json& trace, const std::string& category) {
  std::vector<json> rows;
  for (const json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category) rows.push_back(event);
  return rows;
}

TEST_CASE("a trace has what a device did for the calls of its steps", "[reports]") {
  const ActivityLog log = activity();
  const json trace = json::parse(to_trace_json(origin_of_rank(0), traced_rank(), &log));
  CHECK(trace.at("ptbench").at("activity").dump() ==
        R"({"lost":4,"source":"CUPTI 13","without_call":2})");
  CHECK_FALSE(trace.at("ptbench").contains("emulated"));
  const auto kernels = rows_of_category(trace, "kernel");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].at("name") == "scale");
  CHECK(kernels[0].at("ts") == 1012.0);
  CHECK(kernels[0].at("dur") == 2.0);
  CHECK(kernels[0].at("tid") == 9);
  CHECK(kernels[0].at("args").at("device") == 0);  // the first of those that were seen
  const auto copies = rows_of_category(trace, "gpu_memcpy");
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].at("args").at("bytes") == 512);
  const auto launches = rows_of_category(trace, "cuda_runtime");
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].at("args").at("correlation") == kernels[0].at("args").at("correlation"));
  const auto driver = rows_of_category(trace, "cuda_driver");
  REQUIRE(driver.size() == 1);
  CHECK(driver[0].at("args").at("correlation") == copies[0].at("args").at("correlation"));
  // What are kernels of a CPU lies beside the device's own streams.
  const auto phases = rows_of_category(trace, "gpu_user_annotation");
  CHECK(phases.size() == 12 + 8);
  for (const json& phase : phases) CHECK(phase.at("tid") > 1'000'000);
}

bool is_whole(const json& time) { return std::floor(time.get<double>()) == time.get<double>(); }

bool has_whole_times(const json& row) { return is_whole(row.at("ts")) && is_whole(row.at("dur")); }

TEST_CASE("what a device did has its nanoseconds, what mirrors threads whole microseconds",
          "[reports]") {
  ActivityLog log = activity();
  for (DeviceActivity& each : log.activities) {
    each.begin += 0.25e-6;
    each.end += 0.5e-6;
  }
  // Phases that begin and end between microseconds too.
  const TraceRecorder recorder = traced_rank(0.125e-6);
  const json trace = json::parse(to_trace_json(origin_of_rank(0), recorder, &log));
  const json kernel = rows_of_category(trace, "kernel").at(0);
  CHECK(kernel.at("ts") == 1012.25);
  CHECK(kernel.at("dur") == 2.25);
  for (const json& row : rows_of_category(trace, "gpu_user_annotation"))
    CHECK(has_whole_times(row));
  const json mirror = json::parse(to_trace_json(origin_of_rank(0), recorder));
  int rows = 0;
  for (const json& row : mirror.at("traceEvents")) {
    if (row.at("ph") != "X") continue;
    CHECK(has_whole_times(row));
    ++rows;
  }
  CHECK(rows > 20);
}

TEST_CASE("the trace of an emulated device has places in an order for times", "[reports]") {
  const ActivityLog log = activity();
  TraceOrigin origin = origin_of_rank(0);
  origin.is_emulated = true;
  const std::string text = to_trace_json(origin, traced_rank(), &log);
  const json trace = json::parse(text);
  CHECK(trace.at("ptbench").at("emulated") == true);
  std::set<double> times;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    CHECK_FALSE(event.value("args", json::object()).contains("started"));
    CHECK_FALSE(event.value("args", json::object()).contains("finished"));
    times.insert(event.at("ts").get<double>());
    times.insert(event.at("ts").get<double>() + event.at("dur").get<double>());
  }
  REQUIRE_FALSE(times.empty());
  CHECK(*times.begin() == 0);
  CHECK(*times.rbegin() == static_cast<double>(times.size() - 1));
  CHECK(rows_of_category(trace, "kernel").at(0).at("ts") <
        rows_of_category(trace, "gpu_memcpy").at(0).at("ts"));
  CHECK_THROWS_WITH(read_trace(text, "rank0.json"), Contains("'rank0.json' is of an emulated"));
}

}  // namespace
}  // namespace ptbench::testing

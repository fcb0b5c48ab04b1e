// Traces of a CUDA device: each kernel, copy and fill once, tied to the call that asked for it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/device/emulated.h"
#include "tests/cuda/device.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;

bool is_emulated_device() {
  return is_emulated(probe_cuda(PTBENCH_BUILT_MODULES).devices.front().name);
}

struct Traced {
  json trace;
  json record;
  std::string output;

  [[nodiscard]] std::vector<json> rows(const std::string& category) const {
    std::vector<json> found;
    for (const json& event : trace.at("traceEvents"))
      if (event.value("cat", "") == category) found.push_back(event);
    return found;
  }
  [[nodiscard]] bool warns_of(const std::string& code) const {
    return std::ranges::any_of(record.at("warnings"),
                               [&](const json& each) { return each.at("code") == code; });
  }
};

/// Steps 3 to 5 of `words`, and the one after them.
Traced trace(const Words& words, Words environment = {}, const std::string& device = "cuda:0") {
  const RunCommand run;
  Words command{PTBENCH_EXECUTABLE, "run", "--device", device,  "--verify", "off",
                "--warmup",         "1",   "--steps",  "2",     "--trace",  "traces",
                "--trace-steps",    "3:3", "-o",       "r.json"};
  command.insert(command.end(), words.begin(), words.end());
  environment.push_back("XDG_CACHE_HOME=" + run.path("cache").string());
  const ProgramResult result =
      run_program(command, {.folder = run.path("."), .environment = environment});
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return {.trace = json::parse(run.text("traces/rank0.json")),
          .record = run.json("r.json")["runs"][0],
          .output = result.output};
}

const Words kGpuCategories{"kernel", "gpu_memcpy", "gpu_memset"};

/// What devices did.
std::vector<json> work_of(const Traced& traced) {
  std::vector<json> work;
  for (const std::string& category : kGpuCategories)
    for (const json& row : traced.rows(category)) work.push_back(row);
  return work;
}

double begin_of(const json& row) { return row.at("ts"); }
double end_of(const json& row) { return begin_of(row) + row.at("dur").get<double>(); }
std::int64_t correlation_of(const json& row) { return row.at("args").at("correlation"); }

/// The calls of a trace by their correlation, which is that of one call alone.
std::map<std::int64_t, json> calls_of(const Traced& traced) {
  std::map<std::int64_t, json> calls;
  for (const Words::value_type category : {"cuda_runtime", "cuda_driver"})
    for (const json& row : traced.rows(category))
      CHECK(calls.emplace(correlation_of(row), row).second);
  return calls;
}

/// The rules of HTA: streams above 0, and each row's correlation is that of one call, which began
/// before it.
void check_correlations(const Traced& traced) {
  const std::map<std::int64_t, json> calls = calls_of(traced);
  for (const json& row : work_of(traced)) {
    CAPTURE(row.dump());
    CHECK(row.at("args").at("stream") > 0);
    CHECK(row.at("tid") == row.at("args").at("stream"));
    const auto call = calls.find(correlation_of(row));
    REQUIRE(call != calls.end());
    CHECK(begin_of(call->second) <= begin_of(row));
  }
}

/// How often each is there, by name.
std::map<std::string, int> counts(const std::vector<json>& rows) {
  std::map<std::string, int> found;
  for (const json& row : rows) ++found[row.at("name").get<std::string>()];
  return found;
}

bool has_activity(const Traced& traced) {
  return traced.trace.at("ptbench").value("activity", json::object()).contains("source");
}

void require_activity(const Traced& traced) {
  if (has_activity(traced)) return;
  if (PTBENCH_HAS_CUPTI_SHADOW && is_emulated_device()) FAIL(traced.record.at("warnings").dump());
  skip("there is no CUPTI");
}

TEST_CASE("a trace has each piece of work of a CUDA device once, with its call", "[cuda]") {
  require_cuda_device();
  const Traced traced = trace({"-w", "mlp", "-b", "4"});
  require_activity(traced);
  CHECK_FALSE(traced.warns_of("trace-without-activity"));
  CHECK_FALSE(traced.warns_of("trace-lost-activity"));
  CHECK(traced.trace["ptbench"]["activity"]["lost"] == 0);
  CHECK(traced.trace["ptbench"]["activity"]["without_call"] == 0);
  CHECK_THAT(traced.trace["ptbench"]["activity"]["source"].get<std::string>(), Contains("CUPTI 1"));
  check_correlations(traced);
  const auto kernels = traced.rows("kernel");
  // Four steps of two layers and more: equal counts of each kernel a step.
  for (const auto& [name, count] : counts(kernels)) {
    CAPTURE(name);
    CHECK(count % 4 == 0);
    CHECK_THAT(name, !Contains("_Z"));
  }
  if (is_emulated_device()) CHECK(counts(kernels)["cublasLtMatmul"] == 4 * 8);
  // Of the loss: rows_kernel and gradient_kernel.
  const auto names = counts(kernels);
  CHECK(std::ranges::count_if(names, [](const auto& each) {
          return each.first.find("SoftmaxRows") != std::string::npos;
        }) == 2);
  // As many launches as kernels: a launch is told once.
  std::size_t launches = 0;
  for (const Words::value_type category : {"cuda_runtime", "cuda_driver"})
    for (const json& row : traced.rows(category))
      launches += row.at("name").get<std::string>().find("LaunchKernel") != std::string::npos;
  CHECK(launches == kernels.size());
  // The batch comes from page-locked memory.
  const auto copies = counts(traced.rows("gpu_memcpy"));
  CHECK(copies.contains("Memcpy HtoD (Pinned -> Device)"));
  for (const json& row : traced.rows("gpu_memcpy")) CHECK(row.at("args").at("bytes") > 0);
  // Phases are annotations, no kernels.
  CHECK(names.count("forward") == 0);
  CHECK(counts(traced.rows("gpu_user_annotation"))["forward"] == 4);
  CHECK(traced.rows("user_annotation").size() == 4);
}

struct Interval {
  double begin;
  double end;
  [[nodiscard]] bool holds(const json& row) const {
    return begin <= begin_of(row) && end_of(row) <= end;
  }
};

/// Each step, and after it the time until the next one begins.
std::vector<Interval> intervals_of(const Traced& traced) {
  std::vector<Interval> intervals;
  for (const json& step : traced.rows("user_annotation")) {
    if (!intervals.empty()) intervals.back().end = begin_of(step);
    intervals.push_back({.begin = begin_of(step), .end = end_of(step)});
    intervals.push_back({.begin = end_of(step), .end = std::numeric_limits<double>::infinity()});
  }
  return intervals;
}

/// How often each piece of work is there, by name, in each of these, by when it was asked for; that
/// it was done there too is checked.
std::vector<std::map<std::string, int>> work_by_interval(const Traced& traced) {
  const std::map<std::int64_t, json> calls = calls_of(traced);
  const std::vector<Interval> intervals = intervals_of(traced);
  std::vector<std::vector<json>> work(intervals.size());
  for (const json& row : work_of(traced)) {
    CAPTURE(row.dump());
    const json& call = calls.at(correlation_of(row));
    const auto asked = std::ranges::find_if(
        intervals, [&](const Interval& interval) { return interval.holds(call); });
    REQUIRE(asked != intervals.end());
    CHECK(asked->holds(row));
    work[static_cast<std::size_t>(asked - intervals.begin())].push_back(row);
  }
  std::vector<std::map<std::string, int>> counted;
  for (const auto& rows : work) counted.push_back(counts(rows));
  return counted;
}

TEST_CASE("each piece of work is in the step that asked for it, and steps are alike", "[cuda]") {
  require_cuda_device();
  const bool has_two = probe_cuda(PTBENCH_BUILT_MODULES).devices.size() > 1;
  std::vector<Words> runs{{"-w", "mlp", "-b", "4"},
                          {"-w", "linear", "--accumulate", "2", "--precision", "bf16"}};
  if (has_two) runs.push_back({"-w", "linear", "-s", "dp", "-n", "2"});
  for (const Words& run : runs) {
    CAPTURE(run);
    const bool is_dp = std::ranges::count(run, "dp") > 0;
    const Traced traced = trace(run, {}, is_dp ? "cuda:0+1" : "cuda:0");
    require_activity(traced);
    const auto intervals = work_by_interval(traced);
    REQUIRE(intervals.size() == 4 * 2);
    const auto& first = intervals.front();
    CHECK(std::ranges::any_of(first, [](const auto& each) {
      return each.first.find("adam") != std::string::npos ||
             each.first.find("sgd") != std::string::npos;
    }));
    // Behind each step its loss is read.
    const std::map<std::string, int> read{{"Memcpy DtoH (Device -> Pinned)", 1}};
    for (std::size_t i = 0; i < intervals.size(); ++i)
      CHECK(intervals[i] == (i % 2 == 0 ? first : read));
  }
}

TEST_CASE("a trace shows work in the replica on whose device it was", "[cuda]") {
  require_cuda_device();
  if (probe_cuda(PTBENCH_BUILT_MODULES).devices.size() < 2) skip("there is one device");
  for (const std::string device : {"cuda:0+1", "cuda:1+0"}) {
    CAPTURE(device);
    const Traced traced = trace({"-w", "linear", "-s", "dp", "-n", "2"}, {}, device);
    require_activity(traced);
    int updates = 0;
    for (const json& row : traced.rows("kernel")) {
      if (row.at("name").get<std::string>().find("adam") == std::string::npos) continue;
      ++updates;  // by the first replica alone
      CHECK(row.at("args").at("device") == 0);
    }
    CHECK(updates == 4);
  }
}

TEST_CASE("a trace has copies between devices once, in the replica that copies", "[cuda]") {
  require_cuda_device();
  if (probe_cuda(PTBENCH_BUILT_MODULES).devices.size() < 2) skip("there is one device");
  for (const std::string device : {"cuda:0+1", "cuda:1+0"}) {
    CAPTURE(device);
    const Traced traced = trace({"-w", "linear", "-s", "dp", "-n", "2"}, {}, device);
    require_activity(traced);
    check_correlations(traced);
    std::map<int, int> per_replica;
    std::set<std::int64_t> correlations;
    for (const json& row : traced.rows("gpu_memcpy")) {
      CAPTURE(row.dump());
      CHECK(correlations.insert(correlation_of(row)).second);
      if (row.at("name") != "Memcpy PtoP (Device -> Device)") continue;
      CHECK(row.at("args").at("bytes") > 0);
      ++per_replica[row.at("args").at("device").get<int>()];
    }
    // In each of four steps: the first fetches logits and gradients, the second parameters and the
    // gradient of its logits.
    CHECK(per_replica == std::map<int, int>{{0, 4 * 2}, {1, 4 * 2}});
  }
}

TEST_CASE("the trace of an emulated device says so, and has an order for times", "[cuda]") {
  require_cuda_device();
  if (!is_emulated_device()) skip("this device is a real one");
  const Traced traced = trace({"-w", "linear"});
  CHECK(traced.trace.at("ptbench").at("emulated") == true);
  CHECK(traced.trace.at("ptbench").at("clock") == "none");
  CHECK(traced.trace.at("baseTimeNanoseconds") == 0);
  std::set<double> times;
  for (const json& event : traced.trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    times.insert(event.at("ts").get<double>());
    times.insert(event.at("ts").get<double>() + event.at("dur").get<double>());
  }
  CHECK(*times.begin() == 0);
  CHECK(*times.rbegin() == static_cast<double>(times.size() - 1));
}

TEST_CASE("a trace without CUPTI says why, and has phases", "[cuda]") {
  require_cuda_device();
  if (!is_emulated_device()) skip("this device is a real one");
  const RunCommand run;
  for (const char* folder : {"empty", "old"}) std::filesystem::create_directory(run.path(folder));
  run.write("empty/libcupti.so.13", "");
  std::filesystem::create_symlink(PTBENCH_EMPTY_LIBRARY, run.path("old/libcupti.so.13"));
  const char* path = std::getenv("LD_LIBRARY_PATH");
  REQUIRE(path != nullptr);
  const struct {
    std::string environment;
    std::string reason;
  } cases[] = {{"LD_LIBRARY_PATH=" + run.path("empty").string() + ":" + path, "file too short"},
               {"LD_LIBRARY_PATH=" + run.path("old").string() + ":" + path,
                "libcupti.so.13 is too old: it has no cuptiGetVersion"},
               {"PTBENCH_EMULATOR_CUPTI=refused", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}};
  for (const auto& each : cases) {
    CAPTURE(each.environment);
    const Traced traced = trace({"-w", "linear"}, {each.environment});
    CHECK_THAT(traced.trace["ptbench"]["activity"]["reason"].get<std::string>(),
               Contains(each.reason));
    CHECK(traced.warns_of("trace-without-activity"));
    CHECK_THAT(traced.record.at("warnings").dump(), Contains(each.reason));
    CHECK_THAT(traced.output, Contains("the trace has phases, not the kernels of the device"));
    CHECK(counts(traced.rows("kernel")) ==
          std::map<std::string, int>{{"backward", 4}, {"forward", 4}, {"optimizer", 4}});
    check_correlations(traced);
  }
}

TEST_CASE("a trace that lost records says how many", "[cuda]") {
  require_cuda_device();
  if (!is_emulated_device()) skip("this device is a real one");
  const Traced traced = trace({"-w", "linear"}, {"PTBENCH_EMULATOR_CUPTI=crowded"});
  require_activity(traced);
  CHECK(traced.trace["ptbench"]["activity"]["lost"] > 0);
  CHECK(traced.warns_of("trace-lost-activity"));
}

TEST_CASE("a trace says of how much work the call was lost, and leaves it out", "[cuda]") {
  require_cuda_device();
  if (!is_emulated_device()) skip("this device is a real one");
  const Words words{"-w", "linear"};
  const Traced whole = trace(words);
  require_activity(whole);
  const Traced traced = trace(words, {"PTBENCH_EMULATOR_CUPTI=uncalled"});
  check_correlations(traced);
  const json& activity = traced.trace["ptbench"]["activity"];
  const std::size_t missing = work_of(whole).size() - work_of(traced).size();
  CHECK(missing > 0);
  CHECK(activity.at("without_call") == missing);
  CHECK(activity.at("lost") > missing);  // some calls gave no work
  CHECK(traced.warns_of("trace-lost-activity"));
  CHECK_THAT(traced.record.at("warnings").dump(),
             Contains(std::to_string(missing) + " more, of work whose call was lost"));
}

TEST_CASE("the traces of ranks have NCCL's work, on a stream of its own", "[cuda][ranks]") {
  require_cuda_device();
  if (probe_cuda(PTBENCH_BUILT_MODULES).devices.size() < 2) skip("there are too few GPUs");
  const RunCommand run;
  const ProgramResult result = run_program(
      {PTBENCH_EXECUTABLE,
       "run",
       "-w",
       "linear",
       "-s",
       "ddp",
       "-n",
       "2",
       "--device",
       "cuda",
       "--verify",
       "off",
       "--warmup",
       "1",
       "--steps",
       "2",
       "--trace",
       "traces",
       "--trace-steps",
       "3:3",
       "-o",
       "r.json"},
      {.folder = run.path("."), .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()}});
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  for (const char* file : {"traces/rank0.json", "traces/rank1.json"}) {
    CAPTURE(file);
    const Traced traced{.trace = json::parse(run.text(file)),
                        .record = run.json("r.json")["runs"][0],
                        .output = result.output};
    require_activity(traced);
    check_correlations(traced);
    std::set<std::int64_t> streams_of_nccl;
    std::set<std::int64_t> other_streams;
    std::size_t calls = 0;
    for (const json& row : traced.rows("kernel")) {
      const bool is_nccl = row.at("name").get<std::string>().starts_with("nccl");
      calls += is_nccl ? 1 : 0;
      (is_nccl ? streams_of_nccl : other_streams).insert(row.at("tid").get<std::int64_t>());
    }
    CHECK(calls >= 4 * 2);  // of each step: a reduction, and a sum of the loss
    CHECK(calls % 4 == 0);
    CHECK(streams_of_nccl.size() == 1);
    for (const std::int64_t stream : streams_of_nccl) CHECK_FALSE(other_streams.contains(stream));
  }
}

}  // namespace
}  // namespace ptbench::testing

// Traces as users ask for them, and as trace-merge puts them together.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// A short run with a trace, which succeeds.
ProgramResult trace(const RunCommand& run, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"--steps",   "5", "--warmup", "1",
                                     "--threads", "1", "--trace",  "traces"};
  arguments.insert(arguments.begin(), more.begin(), more.end());
  ProgramResult result = run(arguments);
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return result;
}

json trace_in(const RunCommand& run, int rank) {
  return json::parse(run.text("traces/rank" + std::to_string(rank) + ".json"));
}

std::vector<json> rows_of(const json& trace, const std::string& category,
                          const std::string& name = {}) {
  std::vector<json> rows;
  for (const json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category && (name.empty() || event.at("name") == name))
      rows.push_back(event);
  return rows;
}

std::vector<std::string> steps_of(const json& trace) {
  std::vector<std::string> names;
  for (const json& row : rows_of(trace, "user_annotation")) names.push_back(row.at("name"));
  return names;
}

std::set<std::string> kernels_of(const json& trace) {
  std::set<std::string> names;
  for (const json& row : rows_of(trace, "kernel")) names.insert(row.at("name"));
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("a serial run is traced after what is measured", "[run]") {
  const RunCommand run;
  (void)trace(run, {"-w", "linear", "--trace-steps", "3:2", "--loss-log", "l.csv"});
  CHECK(names_in(run.path("traces")) == Names{"rank0.json"});
  const json found = trace_in(run, 0);
  CHECK(steps_of(found) == Names{"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"});
  CHECK(kernels_of(found) == std::set<std::string>{"forward", "backward", "optimizer"});
  CHECK(rows_of(found, "cpu_op", "data").size() == 3);
  CHECK(found.at("distributedInfo").at("world_size") == 1);
  const std::string losses = run.text("l.csv");
  CHECK(std::ranges::count(losses, '\n') ==
        1 + 1 + 5);  // the steps of the copy are none of the run
}

TEST_CASE("without the option there is no trace", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3"}).exit_code == 0);
  for (const std::string& name : names_in(run.path(""))) CHECK_THAT(name, !Contains("rank"));
}

TEST_CASE("each rank of ddp writes its trace, with the communication of all buckets", "[run]") {
  const RunCommand run;
  (void)trace(run, {"-s", "ddp", "-n", "2", "-b", "16", "--bucket-mb", "1", "--trace-steps", "2"});
  CHECK(names_in(run.path("traces")) == Names{"rank0.json", "rank1.json"});
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const json found = trace_in(run, rank);
    CHECK(found.at("distributedInfo").at("rank") == rank);
    CHECK(found.at("distributedInfo").at("world_size") == 2);
    CHECK(steps_of(found).size() == 3);
    const auto reductions = rows_of(found, "kernel", "ncclKernel_ReduceScatter");
    const auto gathers = rows_of(found, "kernel", "ncclKernel_AllGather");
    CHECK(reductions.size() % 3 == 0);
    CHECK(reductions.size() >= 3 * 7);  // 7.1 MiB of gradients
    CHECK(gathers.size() == reductions.size());
    CHECK(rows_of(found, "kernel", "ncclKernel_AllReduce").size() == 3);
    std::uint64_t bytes = 0;
    for (const json& row : reductions) bytes += row.at("args").at("bytes").get<std::uint64_t>();
    CHECK(bytes >= 3 * 4 * 1'863'690ULL);  // every parameter's gradient
  }
}

TEST_CASE("the replicas of dp are devices of one trace", "[run]") {
  const RunCommand run;
  (void)trace(run, {"-w", "linear", "-s", "dp", "-n", "2"});
  CHECK(names_in(run.path("traces")) == Names{"rank0.json"});
  const json found = trace_in(run, 0);
  CHECK(steps_of(found).size() == 5);
  std::set<int> streams;
  for (const json& row : rows_of(found, "kernel"))
    streams.insert(row.at("args").at("stream").get<int>());
  CHECK(streams == std::set<int>{7, 20, 107, 120});
  CHECK(kernels_of(found).contains("ncclKernel_Gather"));
}

TEST_CASE("micro-batches are told apart, also in a run of several processes", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "linear", "-s", "grad-accum", "--repeats", "2", "--min-time", "0", "--max-time",
           "0.2", "--threads", "1", "--trace", "traces", "--trace-steps", "1"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const json found = trace_in(run, 0);
  const auto passes = rows_of(found, "cpu_op", "forward");
  REQUIRE(passes.size() == 2 * 4);
  CHECK(passes[3].at("args").at("micro_batch") == 3);
}

TEST_CASE("a trace is bounded, and says where it was cut", "[run][long]") {
  const RunCommand run;
  const ProgramResult result =
      trace(run, {"-w", "linear", "--accumulate", "100", "-b", "4", "--trace-steps", "1:1000"});
  CHECK_THAT(result.output + result.errors, Contains("trace-steps"));
  const json found = trace_in(run, 0);
  CHECK(found.at("ptbench").at("steps").at("cut") == true);
  const auto steps = steps_of(found);
  CHECK(steps.size() < 1001);
  CHECK(steps.size() > 10);
  CHECK(fs::file_size(run.path("traces/rank0.json")) < 25'000'000);
}

ProgramResult merge(const RunCommand& run, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PTBENCH_EXECUTABLE, "trace-merge"});
  return run_program(arguments, {.folder = run.path("")});
}

TEST_CASE("the traces of ranks are put on one clock", "[run]") {
  const RunCommand run;
  (void)trace(run, {"-w", "linear", "-s", "ddp", "-n", "2"});
  const ProgramResult merged = merge(run, {"traces"});
  CAPTURE(merged.errors, merged.output);
  REQUIRE(merged.exit_code == 0);
  CHECK_THAT(merged.output, Contains("one clock"));
  CHECK(names_in(run.path("traces")) == Names{"rank0.json", "rank1.json"});
  const json all = json::parse(run.text("traces-merged.json"));
  CHECK(steps_of(all).size() == 2 * 5);
  std::set<int> processes;
  for (const json& row : rows_of(all, "kernel")) processes.insert(row.at("pid").get<int>());
  CHECK(processes.size() == 2);

  const ProgramResult again = merge(run, {"traces", "-o", "all.json", "--json"});
  REQUIRE(again.exit_code == 0);
  CHECK(run.text("all.json") == run.text("traces-merged.json"));
  const json table = json::parse(again.output);
  REQUIRE(table.at("clocks").size() == 2);
  const json& other = table.at("clocks").at(1);
  CHECK(other.at("offset_seconds") == 0);
  CHECK(other.at("at_least_seconds") < 0);
  CHECK(other.at("at_most_seconds") > 0);
  CHECK(other.at("collectives") > 0);
}

TEST_CASE("traces that cannot be merged get one error", "[run]") {
  const RunCommand run;
  (void)trace(run, {"-w", "linear", "-s", "ddp", "-n", "2", "--trace-steps", "1"});
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
    const ProgramResult result = merge(run, arguments);
    CAPTURE(says, result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(says) && Contains("ptbench: remedy: "));
    CHECK(result.output.empty());
    CHECK_FALSE(fs::exists(run.path("traces-merged.json")));
    CHECK(run.partial_files() == 0);
  };
  refused({"nowhere"}, "'nowhere' cannot be read");
  refused({"traces", "-o", "traces/rank0.json"}, "a file that is read");
  refused({"traces", "-o", "nowhere/all.json"}, "nowhere");
  fs::copy(run.path("traces/rank0.json"), run.path("traces/copy.json"));
  refused({"traces"}, "both of rank 0");
  run.write("traces/copy.json", "{\"traceEvents\": []}");
  refused({"traces"}, "not written by ptbench run --trace");
  run.write("traces/copy.json", "{");
  refused({"traces"}, "'traces/copy.json' is damaged");
  fs::remove(run.path("traces/copy.json"));
  fs::remove(run.path("traces/rank1.json"));
  refused({"traces"}, "rank 1 of 2 is missing");
}

TEST_CASE("a folder that cannot be written is refused before anything is measured", "[run]") {
  const RunCommand run;
  run.write("file", "");
  fs::create_directory(run.path("traces"));
  run.write("traces/rank2.json", "{}");
  const auto refused = [&](const std::vector<std::string>& more, const std::string& says) {
    std::vector<std::string> arguments{"-w", "linear", "--steps", "1000000000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(arguments);
    CAPTURE(says, result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(says) && Contains("ptbench: remedy: "));
  };
  refused({"--trace", "file"}, "--trace 'file' cannot be made");
  refused({"--trace", "file/below"}, "--trace 'file/below' cannot be made");
  refused({"--trace", "traces", "-s", "ddp", "-n", "2"}, "'rank2.json', of a run of more ranks");
  refused({"--trace", "new", "-o", "new/rank0.json"}, "rank0.json");
  refused({"--trace-steps", "4"}, "add --trace DIR");
  refused({"--trace", "new", "--trace-steps", "0"}, "--trace-steps");
  refused({"--trace", "new", "--trace-steps", "2:"}, "--trace-steps");
  refused({"--trace", "new", "--trace-steps", ":2"}, "--trace-steps");
  refused({"--trace", "new", "--trace-steps", "1:1001"}, "--trace-steps");
  refused({"--trace", "new", "--verify", "only"}, "leave out --trace");
}

}  // namespace
}  // namespace ptbench::testing

// Google Benchmark's JSON as compare.py, github-action-benchmark and Bencher read it.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/exports/example.h"
#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Json = nlohmann::ordered_json;
using testing::exported_json;
using testing::plain_run;
using testing::result_of;
using testing::sweep_result;

constexpr const char* kSerial = "mlp/serial/n1/b64/fp32";

std::vector<Json> entries_named(const Json& document, const std::string& name) {
  std::vector<Json> entries;
  for (const Json& entry : document.at("benchmarks"))
    if (entry.at("name") == name) entries.push_back(entry);
  return entries;
}

}  // namespace

TEST_CASE("every entry has what compare.py reads", "[exports]") {
  const Json document = exported_json("gbench", {sweep_result()});
  CHECK(document.at("context").at("json_schema_version") == 1);
  CHECK(document.at("context").at("caches").is_array());  // for Bencher
  for (const Json& entry : document.at("benchmarks")) {
    INFO(entry.dump());
    CHECK(entry.at("name").is_string());
    CHECK(entry.at("real_time").is_number());
    CHECK(entry.at("cpu_time") == entry.at("real_time"));
    CHECK((entry.at("run_type") == "iteration") == entry.contains("repetition_index"));
    CHECK((entry.at("run_type") == "aggregate") == entry.contains("aggregate_name"));
    const bool measured = !entry.contains("error_occurred") && !entry.contains("skipped");
    CHECK(entry.at("time_unit") == (measured ? "ns" : "s"));
    CHECK((entry.at("real_time") > 0) == measured);
  }
}

TEST_CASE("repetitions are entries of one name, in nanoseconds", "[exports]") {
  const std::vector<Json> entries =
      entries_named(exported_json("gbench", {sweep_result()}), kSerial);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].at("real_time").get<double>() == Approx(5.12e6));
  CHECK(entries[2].at("real_time").get<double>() == Approx(5.20e6));
  for (std::size_t index = 0; index < entries.size(); ++index) {
    CHECK(entries[index].at("repetition_index") == index);
    CHECK(entries[index].at("repetitions") == 3);
    CHECK(entries[index].at("iterations") == 8);  // 4 samples of 2 steps
  }
  CHECK(entries[0].at("items_per_second").get<double>() == Approx(64 / 0.00512));
}

TEST_CASE("aggregates are those of the repetitions", "[exports]") {
  const Json document = exported_json("gbench", {sweep_result()});
  std::map<std::string, double> times;
  for (const Json& entry : document.at("benchmarks"))
    if (entry.at("run_name") == kSerial && entry.at("run_type") == "aggregate") {
      CHECK(entry.at("name") == kSerial + ("_" + entry.at("aggregate_name").get<std::string>()));
      times[entry.at("aggregate_name")] = entry.at("real_time");
    }
  REQUIRE(times.size() == 3);
  CHECK(times.at("mean") == Approx(5.16e6));
  CHECK(times.at("median") == Approx(5.16e6));
  CHECK(times.at("stddev") == Approx(4e4));
}

TEST_CASE("a repetition that is not clean says so", "[exports]") {
  const std::vector<Json> entries =
      entries_named(exported_json("gbench", {sweep_result()}), "mlp/ddp/n2/b32/fp32");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].at("label") == "foreign-load");
  CHECK(entries[2].at("label") == "not clean, foreign-load");
}

TEST_CASE("exports say of which repetitions nobody knows whether they are clean", "[exports]") {
  NamedResult result = sweep_result();
  for (RunRecord& run : result.result.runs) {
    for (SliceRecord& slice : run.samples.slices) slice.clean.reset();
    for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
  }
  const Json document = exported_json("gbench", {result});
  CHECK(entries_named(document, "mlp/ddp/n2/b32/fp32").at(0).at("label") ==
        "not known to be clean, foreign-load");
  const auto exported = [&](const char* format) { return exported_json(format, {result}).dump(); };
  CHECK_THAT(exported("gha-bigger"), Catch::Contains("0 of 3 repetitions clean, 3 unknown"));
}

TEST_CASE("runs without figures say why", "[exports]") {
  const Json document = exported_json("gbench", {sweep_result()});
  const Json failed = entries_named(document, "mlp/ddp/n4/b16/fp32").at(0);
  CHECK(failed.at("error_occurred") == true);
  CHECK(failed.at("error_message") == "failed: rank 1 died: killed by signal 9");
  const Json skipped = entries_named(document, "mlp/ddp/n8/b8/fp32").at(0);
  CHECK(skipped.at("skipped") == true);
  CHECK_FALSE(skipped.contains("error_occurred"));
  CHECK(entries_named(document, "mlp/dp/n2/b32/fp32").at(0).at("error_occurred") == true);
}

TEST_CASE("a run that knows only its median is one entry without aggregates", "[exports]") {
  const Json document = exported_json("gbench", {result_of({plain_run("a", 0.005)})});
  REQUIRE(document.at("benchmarks").size() == 1);
  const Json& entry = document.at("benchmarks").at(0);
  CHECK(entry.at("real_time").get<double>() == Approx(5e6));
  for (const char* key : {"threads", "iterations", "items_per_second", "label"})
    CHECK_FALSE(entry.contains(key));
  CHECK_FALSE(document.at("context").contains("num_cpus"));
}

TEST_CASE("results of two hosts are refused", "[exports]") {
  NamedResult other = result_of({plain_run("b", 0.005)});
  other.result.environment.host.name = "vm-18";
  CHECK_THAT(testing::refusal_of([&] {
               (void)exported_json("gbench", {result_of({plain_run("a", 0.005)}), other});
             }),
             Contains("two hosts"));
}

}  // namespace ptbench

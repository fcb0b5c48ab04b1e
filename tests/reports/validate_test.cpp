#include "reports/validate.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/json.h"
#include "reports/read_result.h"
#include "src/base/error.h"
#include "src/measure/field_table.h"
#include "tests/reports/example.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using nlohmann::json;

constexpr const char* kSchemas = PTBENCH_SOURCE_DIR "/reports/schema";
constexpr const char* kNewestSchema =
    PTBENCH_SOURCE_DIR "/reports/schema/ptbench.result-2.schema.json";

const ResultSchema& schema() {
  static const ResultSchema schema(kSchemas);
  return schema;
}

std::string text_of(const std::vector<SchemaProblem>& problems) {
  std::string text;
  for (const SchemaProblem& problem : problems)
    text += problem.pointer + ": " + problem.message + "\n";
  return text;
}

ResultFile valid_file() {
  ResultFile file = testing::example_file();
  file.runs.push_back(testing::full_run());
  return file;
}

json valid_document() { return json::parse(to_json(valid_file())); }

/// The problems after the value at `pointer` was replaced by `value`.
std::string after_change(const char* pointer, const json& value) {
  json document = valid_document();
  document[json::json_pointer(pointer)] = value;
  return text_of(schema().problems_of(document));
}

/// The problems after the member `name` of the object at `pointer` was taken away.
std::string after_removal(const char* pointer, const char* name) {
  json document = valid_document();
  REQUIRE(document[json::json_pointer(pointer)].erase(name) == 1);
  return text_of(schema().problems_of(document));
}

}  // namespace

TEST_CASE("records that are written are valid", "[reports]") {
  CHECK(text_of(schema().problems_of(valid_document())).empty());
  ResultFile file = testing::example_file();
  for (const Status status : {Status::failed, Status::skipped, Status::interrupted}) {
    file.runs = {testing::bare_run(status, "for a reason")};
    CHECK(text_of(schema().problems_of(json::parse(to_json(file)))).empty());
  }
  file.runs = {testing::full_run()};
  file.runs[0].samples.slices.at(0).clean.reset();
  CHECK(text_of(schema().problems_of(json::parse(to_json(file)))).empty());
  file.runs.clear();
  file.environment = {};
  file.generator.git_commit.reset();
  CHECK(text_of(schema().problems_of(json::parse(to_json(file)))).empty());
}

TEST_CASE("what a run on several hosts tells has types and bounds", "[reports]") {
  for (const char* place : {"/runs/1/link", "/runs/1/strategy/hosts"})
    CHECK(after_change(place, nullptr).empty());
  CHECK(after_removal("/runs/1", "link").empty());
  CHECK(after_removal("/runs/1/scaling", "predicted").empty());
  for (const char* place :
       {"/runs/1/link/latency_seconds", "/runs/1/link/bandwidth_bytes_per_second",
        "/runs/1/strategy/hosts", "/runs/1/scaling/predicted/step_seconds"})
    CHECK_THAT(after_change(place, -1), Catch::Contains(place));
  for (const char* place :
       {"/runs/1/link/communicator", "/runs/1/scaling/one_host", "/runs/1/scaling/predicted",
        "/runs/1/scaling/efficiency_across_hosts_ci95"})
    CHECK_THAT(after_change(place, 1), Catch::Contains(place));
}

TEST_CASE("a file is checked against the schema that it names", "[reports]") {
  std::ifstream first(PTBENCH_TEST_DATA "/results/result-v1.json");
  json document = json::parse(first);
  CHECK(text_of(schema().problems_of(document)).empty());
  document["runs"][0]["verification"]["status"] = "weak";  // a value of ptbench.result/2
  CHECK(text_of(schema().problems_of(document)) ==
        "/runs/0/verification/status: not among the values allowed here: \"weak\"\n");
  CHECK(after_change("/runs/0/verification/status", "weak").empty());
  CHECK(after_removal("/runs/0/workload", "digest") ==
        "/runs/0/workload: Missing required property 'digest'.\n");
}

TEST_CASE("additions are free", "[reports]") {
  CHECK(after_change("/runs/0/strategy/colour", "green").empty());
  CHECK(after_change("/invented", json::array({1, 2})).empty());
}

TEST_CASE("wrong values are found and named", "[reports]") {
  CHECK(after_change("/schema", "ptbench.result/3") ==
        "/schema: not among the values allowed here: \"ptbench.result/3\"\n");
  CHECK(after_change("/runs/0/engine/name", "other") ==
        "/runs/0/engine/name: not among the values allowed here: \"other\"\n");
  CHECK(after_change("/runs/0/status", "good") ==
        "/runs/0/status: not among the values allowed here: \"good\"\n");
  CHECK(after_change("/runs/1/samples/stop_reason", "tired") ==
        "/runs/1/samples/stop_reason: not among the values allowed here: \"tired\"\n");
  CHECK(after_change("/runs/1/verification/status", nullptr) ==
        "/runs/1/verification/status: not among the values allowed here: null\n");
  CHECK(after_change("/runs/0/throughput/unit", "images/s") ==
        "/runs/0/throughput/unit: not among the values allowed here: \"images/s\"\n");
}

TEST_CASE("wrong types are found and named", "[reports]") {
  CHECK(after_change("/runs/0/throughput/value", "fast") ==
        "/runs/0/throughput/value: of a type that is not allowed here: \"fast\"\n");
  CHECK(after_change("/runs/0/strategy/world_size", 1.5) ==
        "/runs/0/strategy/world_size: of a type that is not allowed here: 1.5\n");
  CHECK(after_change("/runs/0/samples/step_seconds/2", nullptr) ==
        "/runs/0/samples/step_seconds/2: of a type that is not allowed here: null\n");
  CHECK(after_change("/runs/0/loss", json::array({1, 2})) ==
        "/runs/0/loss: of a type that is not allowed here: an array of 2\n");
  CHECK(after_change("/environment/variables/PTBENCH_ISA", 3) ==
        "/environment/variables/PTBENCH_ISA: of a type that is not allowed here: 3\n");
  CHECK_FALSE(after_change("/runs", json::object()).empty());
  CHECK_FALSE(text_of(schema().problems_of(json::array())).empty());
  CHECK_FALSE(text_of(schema().problems_of(nullptr)).empty());
}

TEST_CASE("missing fields are found and named", "[reports]") {
  CHECK(after_removal("", "generator") == ": Missing required property 'generator'.\n");
  CHECK(after_removal("/runs/0", "warnings") == "/runs/0: Missing required property 'warnings'.\n");
  CHECK(after_removal("/runs/0/throughput", "ci95") ==
        "/runs/0/throughput: Missing required property 'ci95'.\n");
  CHECK(after_removal("/environment/host", "kernel") ==
        "/environment/host: Missing required property 'kernel'.\n");
}

TEST_CASE("numbers that cannot be are found", "[reports]") {
  CHECK_FALSE(after_change("/runs/0/step_seconds/median", -0.1).empty());
  CHECK_FALSE(after_change("/runs/0/accuracy/test", 96.4).empty());
  CHECK_FALSE(after_change("/runs/1/throughput/ci95", json::array({1})).empty());
  CHECK_FALSE(after_change("/runs/1/throughput/ci95", json::array({1, 2, 3})).empty());
}

TEST_CASE("what nobody can have measured is found, as by the reader", "[reports]") {
  const std::vector<std::pair<const char*, json>> absurd{
      {"/runs/1/samples/repetitions/0/median_seconds", 2e9},
      {"/runs/1/samples/repetitions/0/median_seconds", 0},
      {"/runs/1/samples/repetitions/0/clean_slices", 2'000'000'000'000'000},
      {"/runs/1/samples/step_seconds/2", 1e-13},
      {"/runs/1/samples/step_seconds/2", 2e9},
      {"/runs/1/samples/slices/0/median_seconds", 1e300},
      {"/runs/1/samples/slices/0/repetition", -1},
      {"/runs/1/samples/slices/0/first", 5},
      {"/runs/1/samples/slices/0/count", 5},
      {"/runs/1/samples/slices/0/count", 18446744073709551615ULL},
      {"/runs/1/step_seconds/median", 0.0},
      {"/runs/1/step_seconds/p99", 2e9},
      {"/runs/1/step_seconds/ci95", json::array({1, 2e9})},
      {"/runs/1/step_seconds/by_placement/near/median", 2e9},
      {"/runs/1/step_seconds/by_placement/near/repetitions", "one"},
      {"/runs/1/phases_seconds/forward", 2e9},
      {"/runs/1/time_to_target_seconds", 2e9},
      {"/runs/1/strategy/threads", 18446744073709551615ULL},
      {"/runs/1/workload/input_shape/0", 2'000'000'000'000'000},
      {"/environment/cpu/cores", 2'000'000'000'000'000},
  };
  for (const auto& [pointer, value] : absurd) {
    INFO(pointer << " " << value);
    nlohmann::ordered_json document = nlohmann::ordered_json::parse(to_json(valid_file()));
    document[nlohmann::ordered_json::json_pointer(pointer)] = value;
    CHECK_THROWS_AS(read_result(document.dump(), "r.json"), Error);
    CHECK_FALSE(after_change(pointer, value).empty());
  }
}

TEST_CASE("a run that failed needs a reason", "[reports]") {
  CHECK_FALSE(after_change("/runs/0/status", "failed").empty());
  CHECK_FALSE(after_change("/runs/0/status", "skipped").empty());
  CHECK(after_change("/runs/0/status", "interrupted").empty());
}

TEST_CASE("ids are unique in a file", "[reports]") {
  json document = valid_document();
  document["runs"].push_back(document["runs"][0]);
  CHECK(text_of(schema().problems_of(document)) == "/runs/2/id: the same as that of run 0\n");
}

TEST_CASE("the time of creation is a date and time", "[reports]") {
  for (const char* good : {"2025-06-30T12:34:56Z", "2025-06-30T12:34:56.789+02:00"})
    CHECK(after_change("/created", good).empty());
  for (const char* bad :
       {"", "yesterday", "2025-06-30", "2025-06-30T12:34:56", "2025-06-30 12:34:56Z",
        "2025-06-30T12:34:56.Z", "2025-06-30T12:34:56Zulu"})
    CHECK(after_change("/created", bad) == "/created: not a date and time as in RFC 3339\n");
}

TEST_CASE("names from outside are escaped in problems", "[reports]") {
  CHECK(after_change("/environment/libraries/a~1b~0\x1b", 3) ==
        "/environment/libraries/a~1b~0\\x1b: of a type that is not allowed here: 3\n");
  CHECK(after_change("/runs/0/status", "\x1b[2J\u009b") ==
        "/runs/0/status: not among the values allowed here: \"\\u001b[2J\\u009b\"\n");
}

TEST_CASE("every field of the table has its place in the schema", "[reports]") {
  std::ifstream file(kNewestSchema);
  const json run = json::parse(file).at("definitions").at("run");
  for (const Field& field : field_table()) {
    INFO(field.path);
    const json* place = &run;
    std::string_view path = field.json_path();
    while (!path.empty()) {
      const std::string name(path.substr(0, path.find('.')));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
      REQUIRE(place->at("properties").contains(name));
      place = &place->at("properties").at(name);
    }
    CHECK(place->contains("description"));
  }
}

TEST_CASE("a schema that is missing or broken is named", "[reports]") {
  CHECK_THROWS_WITH(ResultSchema("/nonexistent"),
                    "the schema '/nonexistent/ptbench.result-1.schema.json' cannot be read: "
                    "No such file or directory");
  const testing::TemporaryDirectory folder;
  (void)folder.write("ptbench.result-1.schema.json", "a,b");
  CHECK_THROWS_WITH(ResultSchema(folder.path()), Catch::Contains("is not a JSON Schema"));
}

}  // namespace ptbench

#include "reports/read_result.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/json.h"
#include "src/base/error.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"
#include "tests/reports/file_contents.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Catch::Contains;
using nlohmann::ordered_json;

ResultFile whole_file() {
  ResultFile file = testing::example_file();
  file.runs.push_back(testing::full_run());
  file.runs.push_back(testing::bare_run(Status::failed, "it broke"));
  return file;
}

/// What is said of `text`, which cannot be read: one line with a remedy.
std::string complaint_about(const std::string& text) {
  try {
    (void)read_result(text, "r.json");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    const std::string message = error.what();
    CHECK_THAT(message, Contains("r.json"));
    CHECK(message.size() < 500);
    for (const char letter : message) CHECK(static_cast<unsigned char>(letter) >= 0x20);
    return message;
  }
  FAIL("it was read");
  return {};
}

/// The same of the example after the value at `pointer` was replaced by `value`.
std::string result_after(const char* pointer, const ordered_json& value) {
  ordered_json document = ordered_json::parse(to_json(whole_file()));
  document[ordered_json::json_pointer(pointer)] = value;
  return complaint_about(document.dump());
}

/// The example after the value at `pointer` was taken away.
std::string without(const char* pointer, const char* name) {
  ordered_json document = ordered_json::parse(to_json(whole_file()));
  REQUIRE(document[ordered_json::json_pointer(pointer)].erase(name) == 1);
  return document.dump();
}

std::string minimal(const std::string& runs) {
  return R"({"schema": "ptbench.result/2", "runs": )" + runs + "}";
}

}  // namespace

TEST_CASE("JSON that was read and written again is the same", "[reports]") {
  const std::string text = to_json(whole_file());
  CHECK(to_json(read_result(text, "r.json")) == text);
}

TEST_CASE("reading does not depend on the locale", "[reports]") {
  const std::string text = to_json(whole_file());
  const testing::CommaLocale locale;
  CHECK(to_json(read_result(text, "r.json")) == text);
}

TEST_CASE("everything beside the field table is read", "[reports]") {
  const ResultFile file = read_result(to_json(whole_file()), "r.json");
  CHECK(file.schema_version == 2);
  CHECK(file.runs.at(0).compute.utilization == 0.5714285714285714);
  CHECK(file.generator.git_commit == "abc1234");
  CHECK(file.created == "2025-06-30T12:34:56Z");
  CHECK(file.command.size() == 4);
  CHECK(file.environment.host.name == "vm-17");
  CHECK(file.environment.cpu.cores == 2);
  CHECK(file.environment.devices.at(0).memory_bytes == 25'000'000'000U);
  CHECK(file.environment.libraries.at("onednn") == "2.6.3");
  CHECK(file.environment.variables.at("OMP_NUM_THREADS") == "2");
  const RunRecord& run = file.runs.at(1);
  CHECK(run.workload.input_shape == std::vector<Size>{1, 8, 8});
  CHECK(run.strategy.devices == std::vector<std::string>{"cpu", "cpu"});
  CHECK(run.data.standard_deviation == std::vector<double>{0.37});
  CHECK(run.samples.step_seconds.size() == 4);
  CHECK(run.samples.slices.at(0).median_seconds == 0.00205);
  CHECK(run.samples.slices.at(0).frequency_hertz == 2.9e9);
  CHECK(run.samples.slices.at(0).placement == "near");
  CHECK(run.samples.repetitions.at(0).clean_slices == 1);
  CHECK(run.samples.repetitions.at(0).started_unix_seconds == 1.75e9);
  CHECK(run.samples.repetitions.at(0).lower_quartile_seconds == 0.002);
  CHECK(run.samples.repetitions.at(0).lockstep == "17-1");
  CHECK(run.samples.slices.at(0).turn == 3);
  CHECK(run.samples.slices.at(0).device_temperature_celsius == 61);
  CHECK(run.samples.slices.at(0).device_throttle_reasons ==
        std::vector<std::string>{"gpu_idle", "sync_boost"});
  CHECK(run.samples.slices.at(0).device_other_processes == 2);
  CHECK(run.samples.slices.at(0).device_foreign_fraction == 0.01);
  CHECK(run.samples.slices.at(0).device_joules == 155.5);
  CHECK(run.step_seconds.by_placement.at("near").repetitions == 1);
  CHECK(run.ranks.at(0).host == "vm-17");
  CHECK(run.warnings.at(1).message == "a\rb");
  CHECK(run.step_seconds.ci95.value().low == 0.00203);
  CHECK(run.energy.value().source == "rapl");
  CHECK(run.scaling.value().mode == ScalingMode::strong);
}

TEST_CASE("a slice may not know whether it is clean", "[reports]") {
  ResultFile file = whole_file();
  file.runs.at(1).samples.slices.at(0).clean.reset();
  const std::string text = to_json(file);
  CHECK(ordered_json::parse(text)
            .at(ordered_json::json_pointer("/runs/1/samples/slices/0/clean"))
            .is_null());
  const ResultFile read = read_result(text, "r.json");
  CHECK_FALSE(read.runs.at(1).samples.slices.at(0).clean.has_value());
}

TEST_CASE("a file of schema 1 stays readable", "[reports]") {
  const ResultFile file = read_result_file(PTBENCH_TEST_DATA "/results/result-v1.json");
  REQUIRE(file.runs.size() == 4);
  CHECK(file.environment.cpu.model == "Some Maker CPU");
  CHECK(file.runs[0].id == "mlp/serial/n1/b64/fp32/data=tests/data/digits");
  CHECK(file.schema_version == 1);
  CHECK(file.runs[0].throughput.value == 31219.512195121952);  // over the median step
  CHECK_FALSE(file.runs[0].compute.utilization.has_value());
  CHECK(file.runs[0].compute.effective_utilization == 0.7804878048780488);
  CHECK_FALSE(file.runs[0].workload.digest.has_value());
  CHECK(file.runs[1].verification.status == VerificationStatus::passed);
  CHECK(file.runs[1].samples.repetitions.at(0).median_seconds == 0.00205);
  CHECK_FALSE(file.runs[1].samples.repetitions.at(0).lockstep.has_value());
  CHECK_FALSE(file.runs[1].samples.slices.at(0).turn.has_value());
  CHECK_FALSE(file.runs[1].samples.slices.at(0).device_throttle_reasons.has_value());
  CHECK(file.runs[2].status == Status::failed);
  CHECK(file.runs[2].reason == "rank 1 died");
  CHECK(file.runs[3].status == Status::skipped);
}

TEST_CASE("what is missing, null or not known does not matter", "[reports]") {
  const ResultFile file = read_result(
      minimal(R"([{"id": "a", "status": "ok", "energy": null, "invented": {"b": [1, {}]}}])"),
      "r.json");
  REQUIRE(file.runs.size() == 1);
  CHECK(file.runs[0].id == "a");
  CHECK_FALSE(file.runs[0].energy.has_value());
  CHECK_FALSE(file.runs[0].step_seconds.median.has_value());
  CHECK(file.environment.host.name.empty());
  CHECK(read_result(minimal("[]"), "r.json").runs.empty());
}

TEST_CASE("a record without samples is read", "[reports]") {
  ResultFile file = whole_file();
  for (RunRecord& run : file.runs) run.samples.step_seconds.clear();
  const std::string text = to_json(file);
  CHECK(to_json(read_result(text, "r.json")) == text);
}

TEST_CASE("numbers that JSON lacks keep their place in lists", "[reports]") {
  ResultFile file = whole_file();
  file.runs[0].samples.step_seconds[1] = std::numeric_limits<double>::infinity();
  const ResultFile again = read_result(to_json(file), "r.json");
  CHECK(std::isnan(again.runs[0].samples.step_seconds.at(1)));
  CHECK(again.runs[0].samples.step_seconds.at(2) == 0.0019);
}

TEST_CASE("large and small doubles are read exactly", "[reports]") {
  ResultFile file = whole_file();
  file.runs[0].data.mean = {0.1, 5e-324, 1.7976931348623157e308, 12345678901234567000.0};
  file.runs[0].workload.flops_per_sample = 12345678901234567000.0;
  file.runs[0].loss.first = -0.0;
  const ResultFile again = read_result(to_json(file), "r.json");
  CHECK(again.runs[0].data.mean == file.runs[0].data.mean);
  CHECK(again.runs[0].workload.flops_per_sample == 12345678901234567000.0);
  CHECK(to_json(again) == to_json(file));
}

TEST_CASE("what is no JSON is refused with its place", "[reports]") {
  CHECK(complaint_about("") ==
        "result file 'r.json' is not JSON: line 1, column 1: syntax error while parsing value - "
        "unexpected end of input; expected '[', '{', or a literal");
  CHECK_THAT(complaint_about("{\n  \"schema\": nil"), Contains("line 2, column 14"));
  CHECK_THAT(complaint_about(R"({"schema": "caf)"
                             "\xE9\"}"),
             Contains("ill-formed UTF-8"));
  CHECK_THAT(complaint_about("{\"schema\": \"a\nb\"}"), Contains("control character"));
  CHECK_THAT(complaint_about(minimal("[]") + "}"), Contains("is not JSON"));
  CHECK_THAT(complaint_about(minimal("[1e999]")), Contains("number overflow"));
  CHECK_THAT(complaint_about("{\"" + std::string(100'000, 'x')), Contains("is not JSON"));
  const std::string whole = to_json(whole_file());
  CHECK_THAT(complaint_about(whole.substr(0, whole.size() / 2)), Contains("is not JSON"));
}

TEST_CASE("what is no result is refused", "[reports]") {
  for (const char* text : {"[]", "3", "null", "\"ptbench.result/1\"", "true", "-0"})
    CHECK_THAT(complaint_about(text), Contains("is not a result"));
  CHECK_THAT(complaint_about("{}"), Contains("has no \"schema\""));
  CHECK_THAT(complaint_about(R"({"schema": "ptbench.plan/1"})"), Contains("is not a result"));
  CHECK_THAT(complaint_about(R"({"schema": 1})"), Contains("/schema cannot be 1"));
  CHECK_THAT(complaint_about(R"({"schema": "ptbench.result/2"})"), Contains("no \"runs\""));
  CHECK_THAT(complaint_about(minimal("{}")), Contains("/runs cannot be an object"));
  CHECK_THAT(complaint_about(minimal("null")), Contains("/runs cannot be null"));
  CHECK_THAT(complaint_about(minimal("[3]")), Contains("/runs/0 cannot be 3"));
  CHECK_THAT(complaint_about(minimal("[[]]")), Contains("/runs/0 cannot be an array"));
}

TEST_CASE("the schema stands before the runs", "[reports]") {
  CHECK_THAT(complaint_about(R"({"runs": [], "schema": "ptbench.result/1"})"),
             Contains("no \"schema\" before its \"runs\""));
  CHECK_THAT(complaint_about(without("", "schema")), Contains("no \"schema\""));
}

TEST_CASE("a newer schema is named, whatever follows", "[reports]") {
  CHECK(complaint_about(R"({"schema": "ptbench.result/3", "runs": [{"id": 3}]})") ==
        "result file 'r.json' was written by a newer ptbench: its schema is ptbench.result/3, this "
        "one reads ptbench.result/1 and ptbench.result/2");
  CHECK_THAT(complaint_about(R"({"schema": "ptbench.result/3"})"), Contains("newer"));
}

TEST_CASE("fields of the wrong type are named with what they hold", "[reports]") {
  CHECK(result_after("/runs/1/status", "good") ==
        "result file 'r.json': /runs/1/status cannot be \"good\"");
  CHECK_THAT(result_after("/runs/0/id", 3), Contains("/runs/0/id cannot be 3"));
  CHECK_THAT(result_after("/runs/0/id", nullptr), Contains("/runs/0/id cannot be null"));
  CHECK_THAT(result_after("/runs/0/id", ""), Contains("/runs/0/id cannot be \"\""));
  CHECK_THAT(result_after("/runs/0/throughput/unit", "images/s"),
             Contains("/runs/0/throughput/unit cannot be \"images/s\""));
  CHECK_THAT(result_after("/runs/0/strategy/world_size", 1.5),
             Contains("world_size cannot be 1.5"));
  CHECK_THAT(result_after("/runs/0/strategy/world_size", -1), Contains("world_size cannot be -1"));
  CHECK_THAT(result_after("/runs/0/strategy", ordered_json::array()),
             Contains("/runs/0/strategy cannot be an array"));
  CHECK_THAT(result_after("/runs/1/throughput/ci95", {1}), Contains("ci95 cannot be an array"));
  CHECK_THAT(result_after("/runs/1/throughput/ci95", {1, "2"}), Contains("ci95/1 cannot be \"2\""));
  CHECK_THAT(result_after("/runs/1/step_seconds/median", -0.5), Contains("cannot be -0.5"));
  CHECK_THAT(result_after("/runs/1/samples/step_seconds/2", "x"),
             Contains("/runs/1/samples/step_seconds/2 cannot be \"x\""));
  CHECK_THAT(result_after("/runs/1/samples/slices/0/clean", 1),
             Contains("/runs/1/samples/slices/0/clean cannot be 1"));
  CHECK_THAT(result_after("/runs/1/samples/repetitions/0/median_seconds", -1),
             Contains("median_seconds cannot be -1"));
  CHECK_THAT(result_after("/runs/1/ranks/0", 1), Contains("/runs/1/ranks/0 cannot be 1"));
  CHECK_THAT(result_after("/runs/1/energy", 1), Contains("/runs/1/energy cannot be 1"));
  CHECK_THAT(result_after("/environment/cpu/cores", "two"), Contains("cores cannot be \"two\""));
  CHECK_THAT(result_after("/environment/variables", 1), Contains("variables cannot be 1"));
  CHECK_THAT(result_after("/command/0", 1), Contains("/command/0 cannot be 1"));
}

TEST_CASE("numbers that are too large for their field are refused", "[reports]") {
  CHECK_THAT(result_after("/runs/0/strategy/threads", 18446744073709551615ULL),
             Contains("threads cannot be 18446744073709551615"));
  CHECK_THAT(result_after("/runs/1/samples/slices/0/first", 18446744073709551615ULL),
             Contains("first cannot be"));
  CHECK_THAT(result_after("/runs/1/samples/slices/0/count", 5), Contains("count cannot be 5"));
  CHECK_THAT(result_after("/runs/1/samples/slices/0/first", 5), Contains("first cannot be 5"));
}

TEST_CASE("step times that nobody can have measured are refused", "[reports]") {
  for (const double absurd : {-0.001, 0.0, 1e-13, 1e10, 1e300}) {
    INFO(absurd);
    CHECK_THAT(result_after("/runs/1/samples/step_seconds/2", absurd),
               Contains("/runs/1/samples/step_seconds/2 cannot be"));
    CHECK_THAT(result_after("/runs/1/samples/repetitions/0/median_seconds", absurd),
               Contains("/runs/1/samples/repetitions/0/median_seconds cannot be"));
    CHECK_THAT(result_after("/runs/1/samples/slices/0/median_seconds", absurd),
               Contains("/runs/1/samples/slices/0/median_seconds cannot be"));
    CHECK_THAT(result_after("/runs/1/step_seconds/median", absurd),
               Contains("/runs/1/step_seconds/median cannot be"));
    CHECK_THAT(result_after("/runs/1/step_seconds/by_placement/near/median", absurd),
               Contains("/near/median cannot be"));
  }
  CHECK_THAT(result_after("/runs/1/phases_seconds/forward", 1e10), Contains("forward cannot be"));
}

TEST_CASE("runs with one id are refused", "[reports]") {
  ordered_json document = ordered_json::parse(to_json(whole_file()));
  document["runs"].push_back(document["runs"][1]);
  CHECK_THAT(complaint_about(document.dump()), Contains("/runs/3/id is the same as /runs/1/id"));
}

TEST_CASE("keys that stand twice are refused", "[reports]") {
  CHECK_THAT(complaint_about(R"({"schema": "ptbench.result/1", "schema": "ptbench.result/1"})"),
             Contains("has /schema twice"));
  CHECK_THAT(complaint_about(minimal(R"([{"id": "a", "loss": {"first": 1, "first": 2}}])")),
             Contains("has /runs/0/loss/first twice"));
  CHECK_THAT(complaint_about(minimal("[]").insert(1, R"("runs": 1, )")), Contains("\"schema\""));
}

TEST_CASE("what is nested without end is refused", "[reports]") {
  constexpr std::size_t kBomb = 1'000'000;
  CHECK_THAT(complaint_about(std::string(kBomb, '[')), Contains("is not a result"));
  CHECK_THAT(complaint_about("{\"a\": " + std::string(kBomb, '[')),
             Contains("nested more than 64 deep at /a/0/0/0"));
  std::string objects;
  for (std::size_t depth = 0; depth < kBomb / 10; ++depth) objects += "{\"a/~\":";
  CHECK_THAT(complaint_about(objects), Contains("nested more than 64 deep at /a~1~0/a~1~0"));
  CHECK_THAT(complaint_about(minimal("[{\"a\": " + std::string(kBomb, '['))),
             Contains("nested more than 64 deep at /runs/0/a/0"));
}

TEST_CASE("many objects in a list take no longer than their text", "[reports]") {
  std::string slices;
  for (int index = 0; index < 50'000; ++index) slices += index == 0 ? "{}" : ",{}";
  const ResultFile file = read_result(
      minimal(R"([{"id": "a", "status": "ok", "samples": {"slices": [)" + slices + "]}}]"),
      "r.json");
  CHECK(file.runs.at(0).samples.slices.size() == 50'000);
}

TEST_CASE("hostile names are kept in records and escaped in messages", "[reports]") {
  ordered_json document = ordered_json::parse(to_json(whole_file()));
  document["runs"][0]["id"] = "\x1b[2J\u009b";
  CHECK(read_result(document.dump(), "r.json").runs[0].id == "\x1b[2J\u009b");
  document["runs"][0]["status"] = "\x1b[2J\u009b";
  CHECK_THAT(complaint_about(document.dump()), Contains(R"("\u001b[2J\u009b")"));
  CHECK_THROWS_WITH(read_result("{}", "a\nb\x1b"), Contains(R"('a\x0ab\x1b')"));
}

TEST_CASE("files that cannot be read are named", "[reports]") {
  const testing::TemporaryDirectory folder;
  CHECK_THROWS_WITH(read_result_file(folder.path() / "absent.json"),
                    Contains("absent.json' cannot be read"));
  CHECK_THROWS_WITH(read_result_file(folder.path()), Contains("it is a directory"));
  testing::write_file(folder.path() / "empty.json", "");
  CHECK_THROWS_WITH(read_result_file(folder.path() / "empty.json"), Contains("empty.json"));
}

TEST_CASE("a document is read whatever it says, but strictly", "[reports]") {
  CHECK(*read_json("[1, {\"a\": null}]", "r.json") == nlohmann::json::array({1, {{"a", nullptr}}}));
  CHECK(*read_json(minimal("[3]"), "r.json") == nlohmann::json::parse(minimal("[3]")));
  CHECK(*read_json("-0", "r.json") == 0);
  const std::string text = to_json(whole_file());
  CHECK(*read_json(text, "r.json") == nlohmann::json::parse(text));
  CHECK_THROWS_WITH(read_json("{", "r.json"), Contains("is not JSON: line 1, column 2"));
  CHECK_THROWS_WITH(read_json(R"({"a": [{"b": 1, "b": 2}]})", "r.json"),
                    Contains("has /a/0/b twice"));
  CHECK_THROWS_WITH(read_json(std::string(1'000'000, '['), "r.json"),
                    Contains("nested more than 64 deep"));
}

TEST_CASE("a file that is too large is refused unread", "[reports]") {
  const testing::TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "large.json";
  testing::write_file(file, "{");
  std::filesystem::resize_file(file, kLargestResultFile + 1);
  CHECK_THROWS_WITH(read_result_file(file), Contains("has 512 MiB, more than the 512 MiB"));
}

}  // namespace ptbench

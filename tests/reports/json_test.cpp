#include "reports/json.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/json_text.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

using nlohmann::json;

json parsed(const ResultFile& file) { return json::parse(to_json(file)); }

}  // namespace

TEST_CASE("a result file as JSON", "[reports]") {
  CHECK(to_json(testing::example_file()) == testing::golden("example.json"));
}

TEST_CASE("JSON does not depend on the locale", "[reports]") {
  const testing::CommaLocale locale;
  CHECK(to_json(testing::example_file()) == testing::golden("example.json"));
}

TEST_CASE("what is not known is null in JSON, never 0", "[reports]") {
  const json run =
      parsed(testing::file_of(testing::bare_run(Status::failed, "it broke"))).at("runs").at(0);
  CHECK(run.at("status") == "failed");
  CHECK(run.at("reason") == "it broke");
  for (const char* path : {"/throughput/value",
                           "/throughput/ci95",
                           "/step_seconds/median",
                           "/step_seconds/ci95",
                           "/samples/count",
                           "/samples/stop_reason",
                           "/strategy/threads",
                           "/strategy/overlap",
                           "/workload/parameters",
                           "/workload/input_shape",
                           "/data/mean",
                           "/data/std",
                           "/loss/first",
                           "/accuracy",
                           "/energy",
                           "/scaling",
                           "/versus",
                           "/time_to_target_seconds",
                           "/compute/utilization",
                           "/memory/peak_bytes",
                           "/phases_seconds/forward",
                           "/verification/steps"}) {
    INFO(path);
    CHECK(run.at(json::json_pointer(path)).is_null());
  }
  for (const char* path : {"/samples/step_seconds", "/samples/slices", "/ranks", "/warnings"}) {
    INFO(path);
    CHECK(run.at(json::json_pointer(path)) == json::array());
  }
}

TEST_CASE("zero stays zero in JSON", "[reports]") {
  RunRecord run = testing::bare_run(Status::ok, "");
  run.memory.peak_bytes = 0;
  run.loss.last = 0;
  const json record = parsed(testing::file_of(run)).at("runs").at(0);
  CHECK(record.at("memory").at("peak_bytes") == 0);
  CHECK(record.at("loss").at("last") == 0);
}

TEST_CASE("JSON has no number that is not finite", "[reports]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RunRecord run = testing::full_run();
  run.loss = {kNan, kInfinity};
  run.samples.step_seconds = {0.5, kNan, -kInfinity};
  run.throughput.ci95 = Interval{1, kInfinity};
  run.step_seconds.ci95 = Interval{kNan, 2};
  run.data.mean = {kNan};
  run.ranks[0].wait_seconds = kInfinity;
  run.samples.slices[0].steal_fraction = kNan;
  const json record = parsed(testing::file_of(run)).at("runs").at(0);
  CHECK(record.at("loss").at("first").is_null());
  CHECK(record.at("samples").at("step_seconds") == json::array({0.5, nullptr, nullptr}));
  CHECK(record.at("throughput").at("ci95").is_null());
  CHECK(record.at("step_seconds").at("ci95").is_null());
  CHECK(record.at("ranks").at(0).at("wait_seconds").is_null());
}

TEST_CASE("objects and arrays beside the field table", "[reports]") {
  const json run = parsed(testing::file_of(testing::full_run())).at("runs").at(0);
  CHECK(run.at("throughput").at("ci95") == json::array({30917.9, 31527.1}));
  CHECK(run.at("scaling").at("efficiency_ci95") == json::array({0.88, 0.92}));
  CHECK(run.at("scaling").at("loss").at("wait") == 0.01);
  CHECK(run.at("strategy").at("devices") == json::array({"cpu", "cpu"}));
  CHECK(run.at("samples").at("slices").at(0).at("clean") == true);
  CHECK(run.at("samples").at("repetitions").at(0).at("clean_slices") == 1);
  CHECK(run.at("samples").at("repetitions").at(0).at("started_unix_seconds") == 1.75e9);
  CHECK(run.at("samples").at("repetitions").at(0).at("lower_quartile_seconds") == 0.002);
  CHECK(run.at("samples").at("repetitions").at(0).at("lockstep") == "17-1");
  CHECK(run.at("samples").at("slices").at(0).at("turn") == 3);
  CHECK(run.at("samples").at("slices").at(0).at("device_throttle_reasons") ==
        json::array({"gpu_idle", "sync_boost"}));
  CHECK(run.at("step_seconds").at("by_placement").at("near").at("median") == 0.00205);
  CHECK(run.at("energy").at("source") == "rapl");
  CHECK(run.at("warnings").at(0).at("code") == "few-samples");
  CHECK_FALSE(run.at("throughput").contains("ci95_low"));
}

TEST_CASE("doubles read back exactly from JSON", "[reports]") {
  RunRecord run = testing::full_run();
  run.samples.step_seconds = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 1e-5, 123456789.0};
  const json record = parsed(testing::file_of(run)).at("runs").at(0);
  CHECK(record.at("samples").at("step_seconds").get<std::vector<double>>() ==
        run.samples.step_seconds);
}

TEST_CASE("hostile names come out of JSON as valid UTF-8, without control characters",
          "[reports]") {
  ResultFile file = testing::file_of(testing::full_run());
  file.command = {"ptbench", "caf\xE9", "\u009b2J"};
  file.environment.variables = {{"PTBENCH_\xFF", "\x1b[2J"}};
  const std::string text = to_json(file);
  for (const char letter : text)
    CHECK_FALSE((static_cast<unsigned char>(letter) < 0x20 && letter != '\n'));
  CHECK(text.find('\x7f') == std::string::npos);
  CHECK(text.find("\u009b") == std::string::npos);
  const json document = json::parse(text);
  CHECK(document.at("command").at(1) == "caf\uFFFD");
  CHECK(document.at("command").at(2) == "\u009b2J");
  CHECK(document.at("environment").at("variables").at("PTBENCH_\uFFFD") == "\x1b[2J");
  const json& run = document.at("runs").at(0);
  CHECK(run.at("data").at("source") == "caf\uFFFD\n\x1b[31mred\x7f\u009b");
  CHECK(run.at("workload").at("name") == "models/\"odd\", with\ttab.json");
}

TEST_CASE("JSON text is laid out for people", "[reports]") {
  CHECK(json_text({{"a", {1, 2.5, "x"}},
                   {"b", nlohmann::ordered_json::object()},
                   {"c", nlohmann::ordered_json::array()},
                   {"d", {{{"e", nullptr}}}}}) ==
        "{\n"
        "  \"a\": [1, 2.5, \"x\"],\n"
        "  \"b\": {},\n"
        "  \"c\": [],\n"
        "  \"d\": [\n"
        "    {\n"
        "      \"e\": null\n"
        "    }\n"
        "  ]\n"
        "}");
}

}  // namespace ptbench

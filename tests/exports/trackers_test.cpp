// What github-action-benchmark and Bencher read, by the rules of their code.
#include <catch2/catch.hpp>
#include <cmath>
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

Json entry_named(const Json& entries, const std::string& name) {
  for (const Json& entry : entries)
    if (entry.at("name") == name) return entry;
  FAIL("no entry '" << name << "'");
  return {};
}

}  // namespace

TEST_CASE("entries for github-action-benchmark are what its checks let through", "[exports]") {
  for (const char* format : {"gha-bigger", "gha-smaller"}) {
    const Json entries = exported_json(format, {sweep_result()});
    REQUIRE(entries.is_array());
    REQUIRE_FALSE(entries.empty());
    std::set<std::string> names;
    for (const Json& entry : entries) {
      INFO(entry.dump());
      CHECK(names.insert(entry.at("name")).second);
      CHECK(entry.at("unit").is_string());
      CHECK(entry.at("value").get<double>() > 0);
      for (const auto& [key, value] : entry.items()) CHECK((value.is_string() || key == "value"));
    }
  }
}

TEST_CASE("bigger is better: throughput and scaling efficiency", "[exports]") {
  const Json entries = exported_json("gha-bigger", {sweep_result()});
  CHECK(entries.size() == 4);  // three measured runs, one of them with scaling
  const Json throughput = entry_named(entries, "mlp/serial/n1/b64/fp32");
  CHECK(throughput.at("unit") == "samples/s");
  CHECK(throughput.at("value").get<double>() == Approx(64 / (0.00516 * 1.005)));
  CHECK(throughput.at("range") == "± 123");
  CHECK_THAT(throughput.at("extra").get<std::string>(),
             Contains("vm-17") && Contains("abc1234") && Contains("3 of 3 repetitions clean"));
  const Json efficiency = entry_named(entries, "mlp/ddp/n2/b32/fp32 (scaling efficiency)");
  CHECK(efficiency.at("value").get<double>() == Approx(0.86));
  CHECK_THAT(efficiency.at("extra").get<std::string>(), Contains("foreign-load"));
}

TEST_CASE("a list without any value is refused", "[exports]") {
  const std::vector<NamedResult> results{result_of({plain_run("a", 0.005)})};  // no throughput
  CHECK_THAT(testing::refusal_of([&] { (void)exported_json("gha-bigger", results); }),
             Contains("empty list") && Contains("gha-smaller"));
  CHECK(exported_json("gha-smaller", results).size() == 1);
}

TEST_CASE("smaller is better: milliseconds of a step, mebibytes of memory", "[exports]") {
  const Json entries = exported_json("gha-smaller", {sweep_result()});
  const Json step = entry_named(entries, "mlp/ddp/n2/b32/fp32");
  CHECK(step.at("unit") == "ms/step");
  CHECK(step.at("value").get<double>() == Approx(3.0));
  const Json memory = entry_named(entries, "mlp/ddp/n2/b32/fp32 (peak memory)");
  CHECK(memory.at("unit") == "MiB");
  CHECK(memory.at("value").get<double>() == Approx(150));
  CHECK_FALSE(memory.contains("range"));
}

TEST_CASE("who hovers over a point learns that its run was interrupted", "[exports]") {
  const NamedResult named = sweep_result();
  const Json entry =
      entry_named(exported_json("gha-smaller", {named}), named.result.runs.back().id);
  CHECK_THAT(entry.at("extra").get<std::string>(),
             Contains("interrupted") && Contains("0 of 1 repetitions clean"));
}

TEST_CASE("Bencher's metrics have its own measures in its own units", "[exports]") {
  const Json document = exported_json("bmf", {sweep_result()});
  REQUIRE(document.size() == 3);
  for (const auto& [name, measures] : document.items()) {
    INFO(name);
    CHECK((!name.empty() && name.size() <= 1024));
    REQUIRE(measures.is_object());
    for (const auto& [measure, metric] : measures.items()) {
      CHECK(measure.size() <= 64);
      const double value = metric.at("value");
      CHECK(std::isfinite(value));
      CHECK(metric.value("lower_value", value) <= value);
      CHECK(metric.value("upper_value", value) >= value);
    }
  }
  const Json& measures = document.at("mlp/ddp/n2/b32/fp32");
  CHECK(measures.at("latency").at("value").get<double>() == Approx(3e6));  // ns
  CHECK(measures.at("latency").at("lower_value").get<double>() == Approx(2.97e6));
  CHECK(measures.at("throughput").at("value").get<double>() == Approx(64 / (0.003 * 1.005)));
  CHECK(measures.at("scaling-efficiency").at("upper_value").get<double>() == Approx(0.88));
  CHECK(measures.at("peak-memory").at("value") == 157286400.0);
  CHECK_FALSE(document.at("mlp/serial/n1/b64/fp32").contains("scaling-efficiency"));
}

TEST_CASE("a name that Bencher does not take is refused", "[exports]") {
  const auto write = [](const std::string& id) {
    (void)exported_json("bmf", {result_of({plain_run(id, 0.005)})});
  };
  CHECK_NOTHROW(write(std::string(1024, 'a')));
  CHECK_THAT(testing::refusal_of([&] { write(std::string(1025, 'a')); }), Contains("1025"));
}

}  // namespace ptbench

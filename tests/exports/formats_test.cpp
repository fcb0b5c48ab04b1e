// hyperfine's JSON, Markdown, JSON lines, JUnit and MLPerf's logs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "tests/exports/example.h"
#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Json = nlohmann::ordered_json;
using testing::exported;
using testing::exported_json;
using testing::plain_run;
using testing::result_of;
using testing::sweep_result;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// MLPerf's lines, by key, of one run.
std::multimap<std::string, Json> mllog(const NamedResult& named, const std::string& id) {
  constexpr std::string_view kToken = ":::MLLOG ";
  std::multimap<std::string, Json> events;
  for (const std::string& line : lines_of(exported("mlperf", {named}))) {
    REQUIRE(line.starts_with(kToken));
    Json event = Json::parse(line.substr(kToken.size()));
    if (event.at("metadata").at("run") == id) events.emplace(event.at("key"), std::move(event));
  }
  return events;
}

}  // namespace

TEST_CASE("hyperfine's scripts find the repetitions' seconds", "[exports]") {
  const Json results = exported_json("hyperfine", {sweep_result()}).at("results");
  REQUIRE(results.size() == 3);
  CHECK(results[0].at("command") == "mlp/serial/n1/b64/fp32");
  CHECK(results[0].at("times") == Json::array({0.00512, 0.00516, 0.0052}));
  CHECK(results[0].at("mean").get<double>() == Approx(0.00516));
  CHECK(results[0].at("stddev").get<double>() == Approx(4e-5));
  CHECK(results[0].at("min") == 0.00512);
  CHECK(results[0].at("max") == 0.0052);
  CHECK(results[0].at("exit_codes") == Json::array({0, 0, 0}));
  CHECK_FALSE(results[0].contains("user"));  // nobody measured it
}

TEST_CASE("where repetitions are too few, samples are hyperfine's times", "[exports]") {
  const Json results = exported_json("hyperfine", {sweep_result()}).at("results");
  CHECK(results[2].at("times").size() == 4);
  CHECK_FALSE(results[2].contains("exit_codes"));
  const Json alone =
      exported_json("hyperfine", {result_of({plain_run("a", 0.005)})}).at("results").at(0);
  CHECK(alone.at("times") == Json::array({0.005}));
  CHECK(alone.at("stddev").is_null());
}

TEST_CASE("hyperfine's parameters are what was varied", "[exports]") {
  RunRecord one = plain_run("n1", 0.005);
  RunRecord two = plain_run("n2", 0.003);
  two.strategy.world_size = 2;
  const Json results = exported_json("hyperfine", {result_of({one, two})}).at("results");
  CHECK(results[0].at("parameters") == Json({{"ranks", "1"}}));
  CHECK(results[1].at("parameters") == Json({{"ranks", "2"}}));

  one.strategy.batch_per_replica = one.strategy.global_batch = 64;
  two.strategy.batch_per_replica = 32;  // strong scaling: the batch follows from the ranks
  two.strategy.global_batch = 64;
  CHECK(exported_json("hyperfine", {result_of({one, two})}).at("results")[1].at("parameters") ==
        Json({{"ranks", "2"}}));
  CHECK_FALSE(
      exported_json("hyperfine", {result_of({one})}).at("results")[0].contains("parameters"));
}

TEST_CASE("a Markdown table has a row a run, and hostile names stay text", "[exports]") {
  const std::string text = exported("markdown", {sweep_result()});
  CHECK(count_of(text, "\n| <code>") == 6);
  CHECK_THAT(text, Contains("12.3 k ± 1 %") && Contains("1.72") && Contains("86.0 ± 2.0 %") &&
                       Contains("2 of 3"));
  CHECK_THAT(text, Contains("**failed: rank 1 died: killed by signal 9**"));
  CHECK_THAT(text, !Contains("<b>") && !Contains("`@all`"));
  for (const std::string& line : lines_of(text))
    if (line.starts_with("| ")) CHECK(count_of(line, "|") == 9);
}

TEST_CASE("a line of JSON is a run with its provenance", "[exports]") {
  const std::vector<std::string> lines = lines_of(exported("jsonl", {sweep_result()}));
  const Json runs = Json::parse(testing::golden("sweep.json")).at("runs");
  REQUIRE(lines.size() == runs.size());
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const Json line = Json::parse(lines[index]);
    CHECK(line.at("file") == "sweep.json");
    CHECK(line.at("host") == "vm-17");
    CHECK(line.at("commit") == "abc1234");
    CHECK(line.at("created") == "2025-06-30T12:34:56Z");
    CHECK(line.at("id") == runs[index].at("id"));
    CHECK(line.at("status") == runs[index].at("status"));
    if (runs[index].contains("samples"))
      CHECK(line.at("samples").at("step_seconds") == runs[index].at("samples").at("step_seconds"));
  }
}

TEST_CASE("JUnit counts what failed, what did not match, and what was skipped", "[exports]") {
  const std::string text = exported("junit", {sweep_result()});
  const std::string counts = R"(tests="6" failures="2" errors="0" skipped="1")";
  CHECK(count_of(text, counts) == 2);
  CHECK(count_of(text, "<testcase ") == 6);
  CHECK_THAT(text, Contains("<failure type=\"failed\"") &&
                       Contains("<failure type=\"verification\"") && Contains("<skipped message="));
  CHECK_THAT(text, Contains("Some Maker &lt;CPU&gt; &amp; Co."));
  CHECK_THAT(text,
             Contains("name=\"models/&quot;odd&quot; &lt;b&gt;&amp;|`@all`, with\\x09tab.json"));
  CHECK_THAT(text, Contains("time=\"0.005160000\""));
}

TEST_CASE("lines for MLPerf's parsers have a time, a key, a value and metadata", "[exports]") {
  const NamedResult named = sweep_result();
  for (const RunRecord& run : named.result.runs) {
    std::vector<std::int64_t> times;
    for (const std::string& line : lines_of(exported("mlperf", {named}))) {
      CHECK(std::ranges::all_of(line, [](char letter) { return letter >= ' ' && letter <= '~'; }));
      const Json event = Json::parse(line.substr(line.find('{')));
      CHECK(event.contains("value"));
      if (event.at("metadata").at("run") == run.id) times.push_back(event.at("time_ms"));
    }
    CHECK(std::ranges::is_sorted(times));
  }
}

TEST_CASE("MLPerf's lines tell the configuration, the repetitions and the end", "[exports]") {
  const NamedResult named = sweep_result();
  const auto events = mllog(named, "mlp/serial/n1/b64/fp32");
  CHECK(events.count("block_start") == 3);
  CHECK(events.count("block_stop") == 3);
  CHECK(events.count("run_start") == 1);
  CHECK(events.find("global_batch_size")->second.at("value") == 64);
  CHECK(events.find("opt_name")->second.at("value") == "sgd");
  CHECK(events.find("eval_accuracy")->second.at("value") == 0.9625);
  CHECK(events.find("run_start")->second.at("time_ms") == 1751286896000);
  CHECK(events.find("run_stop")->second.at("metadata").at("status") == "success");
  const Json& block = events.find("block_stop")->second;
  CHECK(block.at("metadata").at("samples_count") == 8 * 64);

  const auto failed = mllog(named, "mlp/ddp/n4/b16/fp32");
  CHECK(failed.count("block_start") == 0);
  CHECK(failed.find("run_stop")->second.at("metadata").at("status") == "aborted");
  CHECK_THAT(failed.find("run_stop")->second.at("metadata").at("reason").get<std::string>(),
             Contains("rank 1 died"));
}

TEST_CASE("a result that does not know its time is no MLPerf log", "[exports]") {
  NamedResult named = result_of({plain_run("a", 0.005)});
  named.result.created = "yesterday";
  CHECK_THAT(testing::refusal_of([&] { (void)exported("mlperf", {named}); }),
             Contains("yesterday"));
}

}  // namespace ptbench

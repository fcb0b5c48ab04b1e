#include "reports/comparison_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/wrap.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

using Catch::Contains;
using nlohmann::json;

constexpr const char* kHostile =
    "a|b`c\n\x1b[2J<img src=x>&\"'\\ @someone #1 caf\xE9 \xEF\xBF\xBF *bold* _it_ [x](y) ~~z~~ $m$";

RunComparison judged(std::string id, Verdict verdict, double change) {
  return {.id = std::move(id),
          .verdict = verdict,
          .base_seconds = 0.00601,
          .new_seconds = 0.00601 * (1 + change),
          .change = change,
          .change_ci99 = Interval{.low = change - 0.009, .high = change + 0.009},
          .base_repetitions = 5,
          .new_repetitions = 5};
}

RunComparison bare(std::string id, Verdict verdict, std::string reason) {
  return {.id = std::move(id), .verdict = verdict, .reason = std::move(reason), .change = {}};
}

Comparison example_comparison() {
  Comparison comparison;
  comparison.runs = {judged("mlp/serial/n1/b64/fp32", Verdict::same, 0.001),
                     judged("mlp/ddp/n2/b64/fp32", Verdict::slower, 0.05),
                     judged("linear/serial/n1/b32/fp32", Verdict::faster, -0.1),
                     judged("mlp/dp/n2/b64/fp32", Verdict::ambiguous, 0.02),
                     bare("resnet18/ddp/n2/b64/fp32", Verdict::missing, ""),
                     bare("resnet18/dp/n2/b64/fp32", Verdict::failed, "rank 1 died"),
                     bare("mlp/ddp/n4/b64/fp32", Verdict::added, "")};
  comparison.runs[3].reason = "the 99 % interval holds both 0 and 2.5 %";
  comparison.runs[3].differences = {"plan a1 / b2"};
  comparison.runs[4].base_seconds = 0.4;
  comparison.runs[4].base_repetitions = 3;
  return comparison;
}

Comparison unlike() {
  Comparison comparison;
  comparison.differences = {"cpu.model Some Maker CPU / Other Maker CPU"};
  comparison.runs = {judged("mlp/serial/n1/b64/fp32", Verdict::incomparable, 0.3)};
  comparison.runs[0].reason = "different environments";
  return comparison;
}

/// Every text of it holds what came from outside.
Comparison hostile() {
  Comparison comparison;
  comparison.differences = {kHostile};
  comparison.runs = {bare(kHostile, Verdict::failed, kHostile),
                     judged(kHostile + std::string(300, 'x'), Verdict::slower, 0.05),
                     judged(kHostile, Verdict::same, 0)};
  comparison.runs[1].differences = {kHostile};
  return comparison;
}

void check_width(const std::string& text, std::size_t columns) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    INFO(line);
    CHECK(code_points(line) <= columns);
    CHECK_FALSE(line.ends_with(' '));
    for (const char letter : line) CHECK(static_cast<unsigned char>(letter) >= 0x20);
  }
}

/// Whether `text` is well-formed as far as a comparison needs: elements nest, attributes are
/// quoted, and '<' and '&' mean something.
bool is_well_formed(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find("?>") + 2; at < text.size(); ++at) {
    if (text[at] == '&' && text.find(';', at) - at > 5) return false;
    if (text[at] != '<') continue;
    const std::size_t end = text.find('>', at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  return open.empty();
}

}  // namespace

TEST_CASE("a comparison for the terminal", "[reports]") {
  CHECK(comparison_console(example_comparison(), {}) ==
        "same          mlp/serial/n1/b64/fp32\n"
        "              6.01 ms -> 6.02 ms  median +0.1 % (-0.8 % to 1.0 %)     n 5/5\n"
        "slower        mlp/ddp/n2/b64/fp32\n"
        "              6.01 ms -> 6.31 ms  median +5.0 % (4.1 % to 5.9 %)      n 5/5\n"
        "faster        linear/serial/n1/b32/fp32\n"
        "              6.01 ms -> 5.41 ms  median -10.0 % (-10.9 % to -9.1 %)  n 5/5\n"
        "ambiguous     mlp/dp/n2/b64/fp32\n"
        "              6.01 ms -> 6.13 ms  median +2.0 % (1.1 % to 2.9 %)      n 5/5\n"
        "              the 99 % interval holds both 0 and 2.5 %\n"
        "              differs: plan a1 / b2\n"
        "missing       resnet18/ddp/n2/b64/fp32\n"
        "              400 ms -> -                                             n 3/0\n"
        "failed        resnet18/dp/n2/b64/fp32\n"
        "              - -> -                                                  n 0/0\n"
        "              rank 1 died\n"
        "new           mlp/ddp/n4/b64/fp32\n"
        "              - -> -                                                  n 0/0\n"
        "Step times; looks for changes of 5.0 % or more; n: clean repetitions, BASE/NEW; "
        "paired: those that\ntook turns\n"
        "1 same, 1 faster, 1 slower, 1 ambiguous, 1 missing, 1 new, 1 failed\n"
        "NEW is slower than BASE in 1 of 7 runs: a step of `mlp/ddp/n2/b64/fp32` takes 5.0 % "
        "longer (99 %:\n4.1 % to 5.9 %); NEW is faster than BASE in 1 of 7 runs: a step of "
        "`linear/serial/n1/b32/fp32` takes\n10.0 % less (99 %: 9.1 % to 10.9 %); 1 run failed in "
        "NEW; 1 run is missing in NEW.\n");
}

TEST_CASE("a comparison that does not fit in one row takes two", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("mlp/serial/n1/b64/fp32/data=tests/data/digits/optimizer=adam",
                            Verdict::slower, 0.05)};
  CHECK(comparison_console(comparison, {}) ==
        "slower        mlp/serial/n1/b64/fp32/data=tests/data/digits/optimizer=adam\n"
        "              6.01 ms -> 6.31 ms  median +5.0 % (4.1 % to 5.9 %)  n 5/5\n"
        "Step times; looks for changes of 5.0 % or more; n: clean repetitions, BASE/NEW; "
        "paired: those that\ntook turns\n"
        "1 slower\n"
        "A step of NEW takes 5.0 % longer (99 %: 4.1 % to 5.9 %) than one of BASE.\n");
}

TEST_CASE("sides that were compared round by round are told as paired", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::same, 0.001)};
  comparison.runs[0].rounds = 4;
  CHECK_THAT(comparison_console(comparison, {}), Contains("  n 5/5 paired\n"));
  CHECK_THAT(comparison_markdown(comparison), Contains("| 5/5 paired |"));
  CHECK(json::parse(comparison_json(comparison)).at("runs").at(0).at("rounds") == 4);
}

TEST_CASE("what was compared by cycles is told in every format", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::slower, 0.05)};
  comparison.runs[0].in_cycles = true;
  comparison.runs[0].clock_change = -0.03;
  const std::string console = comparison_console(comparison, {});
  CHECK_THAT(console, Contains("  n 5/5 cycles\n"));
  CHECK_THAT(console, Contains("cycles: as they would be at BASE's clock\n"));
  CHECK_THAT(console, Contains("A step of NEW takes, at BASE's clock, 5.0 % longer"));
  CHECK_THAT(comparison_markdown(comparison), Contains("| 5/5 cycles |"));
  const json run = json::parse(comparison_json(comparison)).at("runs").at(0);
  CHECK(run.at("in_cycles") == true);
  CHECK(run.at("clock_change") == -0.03);
}

TEST_CASE("how many false alarms are expected is told in every format", "[reports]") {
  Comparison comparison = example_comparison();
  comparison.tested = 4;
  comparison.expected_false_alarms = 0.02;
  const std::string text =
      "2 of 4 runs are called slower or faster: at most 0.02 false alarms among them are expected";
  CHECK_THAT(comparison_console(comparison, {}), Contains("\n" + text + "\n1 same, "));
  CHECK_THAT(comparison_markdown(comparison), Contains("\n\n" + text + ".\n\n"));
  CHECK_THAT(comparison_junit(comparison),
             Contains("<property name=\"expected_false_alarms\" value=\"0.02\"/>"));
  const json document = json::parse(comparison_json(comparison));
  CHECK(document.at("tested") == 4);
  CHECK(document.at("expected_false_alarms") == 0.02);
  comparison.runs.resize(1);  // the same
  CHECK_THAT(comparison_console(comparison, {}), !Contains("false alarms"));
}

TEST_CASE("whether window or anchor decided is told in every format", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::same, 0.001), judged("crept", Verdict::slower, 0.06)};
  comparison.runs[0].decided_by = Reference::window;
  comparison.runs[1].decided_by = Reference::anchor;
  comparison.runs[1].window =
      ReferenceChange{.entries = 10, .change = 0.01, .interval = {.low = -0.03, .high = 0.05}};
  comparison.runs[1].anchor =
      ReferenceChange{.entries = 3, .change = 0.06, .interval = {.low = 0.01, .high = 0.11}};
  CHECK_THAT(comparison_console(comparison, {}),
             Contains("  n 5/5 window\n") && Contains("  n 5/5 anchor\n"));
  CHECK_THAT(comparison_markdown(comparison),
             Contains("| 5/5 anchor |") && Contains("anchor: against the first.\n"));
  CHECK_THAT(comparison_junit(comparison), Contains("; decided by the anchor of the history"));
  const json runs = json::parse(comparison_json(comparison)).at("runs");
  CHECK(runs.at(0).at("decided_by") == "window");
  CHECK(runs.at(0).at("anchor").is_null());
  CHECK(runs.at(1).at("decided_by") == "anchor");
  CHECK(runs.at(1).at("window").at("entries") == 10);
  CHECK(runs.at(1).at("anchor").at("change_ci99") == json::array({0.01, 0.11}));
}

TEST_CASE("the change of the mean step is told as JSON", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::slower, 0.001), judged("other", Verdict::same, 0)};
  comparison.runs[0].mean_change = 0.136;
  comparison.runs[0].mean_change_ci999 = Interval{.low = 0.1, .high = 0.17};
  comparison.runs[0].p_value = 1e-6;
  const json runs = json::parse(comparison_json(comparison)).at("runs");
  CHECK(runs.at(0).at("mean_change") == 0.136);
  CHECK(runs.at(0).at("mean_change_ci999") == json::array({0.1, 0.17}));
  CHECK(runs.at(0).at("p_value") == 1e-6);
  CHECK(runs.at(1).at("mean_change").is_null());
}

TEST_CASE("the interval that decides is the one that is shown, with its statistic", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::slower, 0.511)};
  RunComparison& run = comparison.runs[0];
  run.change_ci99 = Interval{.low = -0.132, .high = 1.631};
  run.mean_change = 0.521;
  run.mean_change_ci999 = Interval{.low = 0.455, .high = 0.589};
  run.deciding = DecidingChange{.statistic = Statistic::mean,
                                .base_seconds = 0.01,
                                .new_seconds = 0.01521,
                                .change = 0.521,
                                .interval = run.mean_change_ci999,
                                .level = 0.999};
  const std::string console = comparison_console(comparison, {});
  const std::string markdown = comparison_markdown(comparison);
  const std::string junit = comparison_junit(comparison);
  CHECK_THAT(console, Contains("10.0 ms -> 15.2 ms  mean +52.1 % (45.5 % to 58.9 %)  n 5/5\n"));
  CHECK_THAT(console,
             Contains("A mean step of NEW takes 52.1 % longer (99.9 %: 45.5 % to 58.9 %) than"));
  CHECK_THAT(markdown, Contains("| change | 99.9 % interval |") &&
                           Contains("| 10.0 ms | 15.2 ms | mean +52.1 % | 45.5 % to 58.9 % |"));
  CHECK_THAT(junit, Contains("slower: 10.0 ms -&gt; 15.2 ms, mean +52.1 % (45.5 % to 58.9 %)"));
  for (const std::string& text : {console, markdown, junit})
    CHECK_THAT(text, !Contains("13.2") && !Contains("51.1"));
  const json record = json::parse(comparison_json(comparison)).at("runs").at(0);
  CHECK(record.at("deciding").at("statistic") == "mean");
  CHECK(record.at("deciding").at("interval") == json::array({0.455, 0.589}));
  CHECK(record.at("change_ci99") == json::array({-0.132, 1.631}));
}

TEST_CASE("where no interval decided, the gap between the sides is shown", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("run", Verdict::slower, 0.511)};
  comparison.runs[0].deciding =
      DecidingChange{.base_seconds = 0.01, .new_seconds = 0.01511, .change = 0.511, .least = 0.12};
  const std::string console = comparison_console(comparison, {});
  CHECK_THAT(console, Contains("median +51.1 % (12.0 % at least)") &&
                          Contains("takes 51.1 % longer (at least 12.0 %) than one of BASE."));
  CHECK_THAT(comparison_markdown(comparison), Contains("| median +51.1 % | 12.0 % at least |"));
}

TEST_CASE("unlike environments and what they mean come first", "[reports]") {
  CHECK(comparison_console(unlike(), {}) ==
        "BASE and NEW were measured in different environments:\n"
        "  cpu.model Some Maker CPU / Other Maker CPU\n"
        "no verdicts: the environments differ; --ignore-environment compares all the same\n"
        "incomparable  mlp/serial/n1/b64/fp32  6.01 ms -> 7.81 ms  median +30.0 % (29.1 % to 30.9 "
        "%)  "
        "n 5/5\n"
        "              different environments\n"
        "Step times; looks for changes of 5.0 % or more; n: clean repetitions, BASE/NEW; "
        "paired: those that\ntook turns\n"
        "no run was judged: 1 incomparable; --ignore-environment compares all the same, --strict "
        "ends with 4\n"
        "1 incomparable\n");
  Comparison ignored = unlike();
  ignored.environment_ignored = true;
  CHECK_THAT(comparison_console(ignored, {}), Contains("compared all the same"));
  CHECK_THAT(comparison_console(ignored, {}), !Contains("no verdicts"));
}

TEST_CASE("remarks are told in every format and take no verdict away", "[reports]") {
  Comparison comparison = example_comparison();
  comparison.remarks = {"build_type Release / Debug"};
  comparison.runs[1].remarks = {"slowdown none / 5.00 %"};
  comparison.runs[3].remarks = {"slowdown none / 3.00 %"};
  const std::string console = comparison_console(comparison, {});
  CHECK_THAT(console, Catch::StartsWith("remark: build_type Release / Debug\nsame "));
  CHECK_THAT(console, Contains("differs: slowdown none / 5.00 %\n") &&
                          Contains("differs: plan a1 / b2; slowdown none / 3.00 %\n") &&
                          !Contains("no verdicts"));
  CHECK_THAT(comparison_markdown(comparison),
             Contains("remarks:\n\n- <code>build&#95;type Release / Debug</code>\n\n") &&
                 Contains("| slowdown none / 5.00 % |"));
  CHECK_THAT(comparison_junit(comparison),
             Contains("<property name=\"difference\" value=\"build_type Release / Debug\"/>") &&
                 Contains("differs: slowdown none / 5.00 %") && !Contains("name=\"environment\""));
  const json document = json::parse(comparison_json(comparison));
  CHECK(document.at("differences") == json::array({"build_type Release / Debug"}));
  CHECK(document.at("runs").at(3).at("differences") ==
        json::array({"plan a1 / b2", "slowdown none / 3.00 %"}));
  check_width(console, 100);
}

TEST_CASE("that no run was judged is told with the remedy", "[reports]") {
  Comparison comparison = unlike();
  CHECK_THAT(comparison_markdown(comparison),
             Catch::StartsWith("### ptbench compare: 1 incomparable\n\n**no run was judged: 1 "
                               "incomparable; --ignore-environment compares all the same"));
  CHECK_THAT(comparison_junit(comparison),
             Contains("<property name=\"unjudged\" value=\"no run was judged"));
  comparison.runs.push_back(judged("other", Verdict::ambiguous, 0.02));
  for (const std::string& text : {comparison_console(comparison, {}),
                                  comparison_markdown(comparison), comparison_junit(comparison)})
    CHECK_THAT(text, !Contains("no run was judged"));
  comparison.runs = {bare("a", Verdict::missing, "skipped in NEW"), bare("b", Verdict::added, "")};
  CHECK_THAT(comparison_console(comparison, {}),
             Contains("no run was judged: 1 missing, 1 new; measure the missing runs in NEW\n"));
  comparison.runs.erase(comparison.runs.begin());
  CHECK_THAT(comparison_console(comparison, {}),
             Contains("no run was judged: 1 new; the next comparison can judge the new runs"));
  comparison.runs = {bare("a", Verdict::failed, "rank 1 died")};
  CHECK_THAT(comparison_console(comparison, {}), !Contains("no run was judged"));
}

TEST_CASE("what of a history was left out is told in every format", "[reports]") {
  Comparison comparison = example_comparison();
  comparison.left_out =
      LeftOut{.entries = 9, .differences = {"cpu.model A / B", "cpu.cores 2 / 4"}};
  comparison.runs[1].left_out = LeftOut{.entries = 1, .differences = {"plan a1 / b2"}};
  const std::string console = comparison_console(comparison, {});
  CHECK_THAT(console, Catch::StartsWith("remark: left out of BASE: 9 entries of the history "
                                        "(cpu.model A / B and 1 more)\n") &&
                          Contains("\n              left out of BASE: 1 entry of the history (plan "
                                   "a1 / b2)\n"));
  check_width(console, 100);
  CHECK_THAT(comparison_markdown(comparison),
             Contains("- <code>left out of BASE: 9 entries") &&
                 Contains("| left out of BASE: 1 entry of the history (plan a1 / b2) |"));
  CHECK_THAT(comparison_junit(comparison),
             Contains("<property name=\"history\" value=\"left out of BASE: 9 entries") &&
                 Contains("; left out of BASE: 1 entry of the history (plan a1 / b2)\""));
  const json document = json::parse(comparison_json(comparison));
  CHECK(document.at("left_out").at("entries") == 9);
  CHECK(document.at("left_out").at("differences").size() == 2);
  CHECK(document.at("runs").at(0).at("left_out").is_null());
  CHECK(document.at("runs").at(1).at("left_out").at("differences") ==
        json::array({"plan a1 / b2"}));
}

TEST_CASE("verdicts are coloured on a terminal", "[reports]") {
  const std::string text = comparison_console(example_comparison(), {.colour = true});
  for (const char* name : {"slower", "failed", "missing"})
    CHECK_THAT(text, Contains("\x1b[31m" + std::string(name) + "\x1b[0m"));
  CHECK_THAT(text, Contains("\x1b[32mfaster\x1b[0m"));
  CHECK_THAT(text, Contains("\x1b[33mambiguous\x1b[0m"));
  CHECK(text.starts_with("same "));
}

TEST_CASE("a comparison of nothing says so", "[reports]") {
  CHECK(comparison_console({}, {}) == "nothing was compared\n");
}

TEST_CASE("a comparison fits on a screen, whatever its names", "[reports]") {
  for (const std::size_t columns : {100U, 70U}) {
    check_width(comparison_console(hostile(), {.columns = columns}), columns);
    check_width(comparison_console(example_comparison(), {.columns = columns}), columns);
  }
}

TEST_CASE("a comparison does not depend on the locale", "[reports]") {
  const std::string console = comparison_console(example_comparison(), {});
  const std::string junit = comparison_junit(example_comparison());
  const testing::CommaLocale locale;
  CHECK(comparison_console(example_comparison(), {}) == console);
  CHECK(comparison_junit(example_comparison()) == junit);
}

TEST_CASE("changes beyond all measure stay readable", "[reports]") {
  Comparison comparison;
  comparison.runs = {judged("a", Verdict::slower, std::numeric_limits<double>::infinity()),
                     judged("b", Verdict::slower, 1e200)};
  check_width(comparison_console(comparison, {}), 100);
  CHECK_THAT(comparison_console(comparison, {}), Contains("+1e+202 %"));
  const json document = json::parse(comparison_json(comparison));
  CHECK(document.at("runs").at(0).at("change").is_null());
  CHECK(document.at("runs").at(0).at("change_ci99").is_null());
}

TEST_CASE("a comparison as Markdown", "[reports]") {
  CHECK(comparison_markdown(example_comparison()) == testing::golden("comparison.md"));
  CHECK_THAT(comparison_markdown(unlike()),
             Contains("no verdicts: the environments differ; --ignore-environment compares all the "
                      "same:\n\n- <code>cpu.model Some Maker CPU / Other Maker CPU</code>\n\n|"));
}

TEST_CASE("hostile names are harmless in Markdown", "[reports]") {
  const std::string text = comparison_markdown(hostile());
  for (const char* part : {"<img", "`", "\x1b", "\xE9", "@someone", "*bold*", "_it_", "[x]", "~~",
                           "$m$", "a|b", "\\"}) {
    INFO(part);
    CHECK_THAT(text, !Contains(part));
  }
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with('|')) CHECK(std::ranges::count(line, '|') == 9);
}

TEST_CASE("a comparison as JSON", "[reports]") {
  const json document = json::parse(comparison_json(example_comparison()));
  CHECK(document.at("schema") == "ptbench.comparison/1");
  CHECK(document.at("detect") == 0.05);
  CHECK(document.at("environment_ignored") == false);
  CHECK(document.at("differences") == json::array());
  CHECK(document.at("counts") == json::parse(R"({"same": 1, "faster": 1, "slower": 1,
    "ambiguous": 1, "missing": 1, "new": 1, "failed": 1, "incomparable": 0})"));
  const json& slower = document.at("runs").at(1);
  CHECK(slower.at("id") == "mlp/ddp/n2/b64/fp32");
  CHECK(slower.at("verdict") == "slower");
  CHECK(slower.at("reason").is_null());
  CHECK(slower.at("base_seconds") == 0.00601);
  CHECK(slower.at("change") == 0.05);
  CHECK(slower.at("change_ci99") == json::array({0.05 - 0.009, 0.05 + 0.009}));
  CHECK(slower.at("new_repetitions") == 5);
  CHECK(slower.at("rounds").is_null());
  CHECK(slower.at("in_cycles") == false);
  CHECK(slower.at("clock_change").is_null());
  const json& failed = document.at("runs").at(5);
  CHECK(failed.at("reason") == "rank 1 died");
  CHECK(failed.at("new_seconds").is_null());
  CHECK(document.at("runs").at(3).at("differences") == json::array({"plan a1 / b2"}));
}

TEST_CASE("hostile names come out of a comparison's JSON as valid UTF-8", "[reports]") {
  const std::string text = comparison_json(hostile());
  for (const char letter : text)
    CHECK((static_cast<unsigned char>(letter) >= 0x20 || letter == '\n'));
  CHECK_THAT(json::parse(text).at("runs").at(0).at("id").get<std::string>(), Contains("caf\uFFFD"));
}

TEST_CASE("a comparison as JUnit XML", "[reports]") {
  Comparison comparison = example_comparison();
  comparison.runs.resize(4);
  CHECK(comparison_junit(comparison) == testing::golden("comparison.xml"));
}

TEST_CASE("JUnit counts what failed and what was left open", "[reports]") {
  CHECK_THAT(comparison_junit(example_comparison()),
             Contains("tests=\"7\" failures=\"3\" errors=\"0\" "
                      "skipped=\"1\""));
  CHECK_THAT(comparison_junit(unlike()), Contains("failures=\"0\" errors=\"0\" skipped=\"1\""));
  CHECK_THAT(comparison_junit(unlike()),
             Contains("<property name=\"difference\" value=\"cpu.model Some Maker CPU / Other "
                      "Maker CPU\"/>"));
}

TEST_CASE("hostile names are harmless in XML", "[reports]") {
  const std::string text = comparison_junit(hostile());
  CHECK(is_well_formed(text));
  for (const char* part : {"<img", "\x1b", "\xE9", "\xEF\xBF\xBF", "\xEF\xBF\xBE"}) {
    INFO(part);
    CHECK_THAT(text, !Contains(part));
  }
  CHECK_THAT(text, Contains("&lt;img src=x&gt;&amp;&quot;&apos;"));
  CHECK_THAT(text, Contains(R"(a|b`c\x0a\x1b[2J)"));
  CHECK(is_well_formed(comparison_junit(example_comparison())));
}

TEST_CASE("a self-check for the terminal", "[reports]") {
  const std::vector<SelfCheck> checks{{.id = "mlp/serial/n1/b64/fp32",
                                       .placement = "near",
                                       .repetitions = 6,
                                       .standard_deviation = 0.0058,
                                       .false_alarm_rate = 0.1,
                                       .splits = 10,
                                       .resolvable_with_3 = 0.0244,
                                       .resolvable_with_5 = 0.0189,
                                       .resolvable_with_10 = 0.0134},
                                      {.id = "mlp/serial/n1/b64/fp32",
                                       .placement = "one_core",
                                       .repetitions = 3,
                                       .standard_deviation = 0.0016,
                                       .resolvable_with_3 = 0.01,
                                       .resolvable_with_5 = 0.01,
                                       .resolvable_with_10 = 0.01}};
  const std::string text = self_check_console(checks, {});
  CHECK_THAT(text,
             Catch::StartsWith(
                 "placement  n  run to run  false alarms  3 a side  5 a side  10 a side  run\n"
                 "near       6      0.58 %  10.0 % of 10     2.4 %     1.9 %      1.3 %  "
                 "mlp/serial/n1/b64/fp32\n"
                 "one_core   3      0.16 %             -     1.0 %     1.0 %      1.0 %  "
                 "mlp/serial/n1/b64/fp32\n"
                 "run to run: "));
  check_width(text, 100);
}

TEST_CASE("a self-check tells what is unusual, and at which --detect it resolves", "[reports]") {
  const std::vector<SelfCheck> checks{
      {.id = "run", .placement = "near", .repetitions = 3, .unusual = true}};
  CHECK_THAT(self_check_console(checks, {}),
             Contains("run\n  unusual: not learnt, ") && Contains("--detect set to"));
  CHECK(json::parse(self_check_json(checks)).at("checks").at(0).at("unusual") == true);
}

TEST_CASE("a self-check as JSON", "[reports]") {
  const std::vector<SelfCheck> checks{{.id = kHostile, .placement = "far", .repetitions = 3}};
  const json document = json::parse(self_check_json(checks));
  CHECK(document.at("schema") == "ptbench.self_check/1");
  const json& check = document.at("checks").at(0);
  CHECK(check.at("placement") == "far");
  CHECK(check.at("repetitions") == 3);
  CHECK(check.at("false_alarm_rate").is_null());
  CHECK(check.at("resolvable_with_10") == 0);
  check_width(self_check_console(checks, {}), 100);
}

}  // namespace ptbench

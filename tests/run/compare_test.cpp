// `ptbench compare` as a user calls it: verdicts, exit codes, files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::ordered_json;

constexpr const char* kId = "mlp/serial/n1/b64/fp32";

/// A run of five clean repetitions, `times` as slow as 6 ms.
ordered_json run_named(const std::string& id, double times = 1) {
  ordered_json run;
  run["id"] = id;
  run["status"] = "ok";
  run["workload"] = {{"name", "mlp"}};
  run["strategy"] = {{"name", "serial"}, {"world_size", 1}, {"precision", "fp32"}, {"threads", 2}};
  std::vector<double> samples;
  ordered_json slices = ordered_json::array();
  ordered_json repetitions = ordered_json::array();
  for (int repetition = 0; repetition < 5; ++repetition) {
    const double seconds = 0.006 * times * (1 + 0.001 * (repetition - 2));
    slices.push_back({{"repetition", repetition},
                      {"first", samples.size()},
                      {"count", 2},
                      {"clean", true},
                      {"median_seconds", seconds},
                      {"placement", "near"}});
    repetitions.push_back(
        {{"median_seconds", seconds}, {"placement", "near"}, {"clean_slices", 1}});
    samples.insert(samples.end(), 2, seconds);
  }
  run["samples"] = {{"count", samples.size()},
                    {"step_seconds", samples},
                    {"slices", slices},
                    {"repetitions", repetitions}};
  run["step_seconds"] = {{"median", 0.006 * times}};
  return run;
}

ordered_json run_failed(const std::string& id) {
  return {{"id", id}, {"status", "failed"}, {"reason", "rank 1 died"}};
}

ordered_json file_of(const std::vector<ordered_json>& runs, const std::string& cpu = "Some CPU") {
  return {{"schema", "ptbench.result/2"},
          {"environment", {{"host", {{"name", "vm-17"}}}, {"cpu", {{"model", cpu}, {"cores", 2}}}}},
          {"runs", runs}};
}

/// The same, made at that minute.
ordered_json made_at(int minute, ordered_json file) {
  file["created"] = "2025-06-30T12:" + std::to_string(10 + minute) + ":00Z";
  return file;
}

/// Results in a folder of its own, with a cache of its own.
class CompareCommand {
 public:
  [[nodiscard]] ProgramResult operator()(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {PTBENCH_EXECUTABLE, "compare"});
    return run_program(arguments,
                       {.folder = folder_.path(),
                        .environment = {"XDG_CACHE_HOME=" + (folder_.path() / "cache").string()}});
  }

  void write_text(const std::string& name, const std::string& text) const {
    (void)folder_.write(name, text);
  }
  void write(const std::string& name, const std::vector<ordered_json>& runs) const {
    write_text(name, file_of(runs).dump());
  }

  void make_folder(const std::string& name) const {
    std::filesystem::create_directory(folder_.path() / name);
  }

  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    if (!file) return {};
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }

 private:
  TemporaryDirectory folder_;
};

void check_usage_error(const ProgramResult& result, const std::string& says) {
  CAPTURE(result.errors);
  CHECK(result.exit_code == 1);
  CHECK(result.output.empty());
  CHECK_THAT(result.errors, Contains("ptbench: error: ") && Contains(says));
  CHECK_THAT(result.errors, Contains("ptbench: remedy: "));
}

TEST_CASE("equal results are the same", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("b.json", {run_named(kId, 1.001)});
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, std::vector<std::string>{"--strict"}}) {
    std::vector<std::string> arguments{"a.json", "b.json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = compare(arguments);
    CAPTURE(result.errors);
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.output, Catch::StartsWith("same ") && Contains(kId) && Contains("n 5/5") &&
                                  Contains("\n1 same\n") &&
                                  Catch::EndsWith("\nNEW is as fast as BASE within 5.0 %.\n"));
    CHECK(result.errors.empty());
  }
}

TEST_CASE("what is 5 % slower is a regression", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId), run_named("other")});
  compare.write("b.json", {run_named(kId, 1.05), run_named("other")});
  const ProgramResult result = compare({"a.json", "b.json"});
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.output, Contains("slower") && Contains("6.00 ms -> 6.30 ms") &&
                                Contains("+5.0 %") && Contains("1 same, 1 slower\n"));
  const ProgramResult reverse = compare({"b.json", "a.json"});
  CHECK(reverse.exit_code == 0);
  CHECK_THAT(reverse.output, Contains("faster"));
}

TEST_CASE("runs that are missing or failed are regressions, new ones are not", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId), run_named("other")});
  compare.write("one.json", {run_named(kId)});
  compare.write("failed.json", {run_named(kId), run_failed("other")});
  const ProgramResult missing = compare({"a.json", "one.json"});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.output, Contains("missing"));
  const ProgramResult failed = compare({"a.json", "failed.json"});
  CHECK(failed.exit_code == 3);
  CHECK_THAT(failed.output, Contains("failed") && Contains("rank 1 died"));
  const ProgramResult added = compare({"one.json", "a.json"});
  CHECK(added.exit_code == 0);
  CHECK_THAT(added.output, Contains("1 same, 1 new\n"));
}

TEST_CASE("unlike environments get no verdict", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write_text("b.json", file_of({run_named(kId, 1.3)}, "Other CPU").dump());
  const ProgramResult result = compare({"a.json", "b.json"});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("cpu.model") && Contains("no verdicts") &&
                                Contains("no run was judged: 1 incomparable; "
                                         "--ignore-environment compares all the same") &&
                                Catch::EndsWith("1 incomparable\n"));
  CHECK(compare({"a.json", "b.json", "--strict"}).exit_code == 4);
  const ProgramResult ignored = compare({"a.json", "b.json", "--ignore-environment"});
  CHECK(ignored.exit_code == 3);
  CHECK_THAT(ignored.output, Contains("slower") && Contains("cpu.model"));
}

TEST_CASE("too few repetitions are ambiguous", "[run]") {
  const CompareCommand compare;
  ordered_json run = run_named(kId);
  run["samples"]["repetitions"].erase(2);
  run["samples"]["repetitions"].erase(2);
  run["samples"]["repetitions"].erase(2);
  compare.write("a.json", {run_named(kId)});
  compare.write("b.json", {run});
  CHECK(compare({"a.json", "b.json"}).exit_code == 0);
  const ProgramResult result = compare({"a.json", "b.json", "--strict"});
  CHECK(result.exit_code == 4);
  CHECK_THAT(result.output, Contains("ambiguous") && Contains("n 5/2"));
}

TEST_CASE("files that cannot be compared are usage errors", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("same.json", {run_named(kId)});
  compare.write("other.json", {run_named("other"), run_named("another")});
  const std::string whole = file_of({run_named(kId)}).dump();
  compare.write_text("cut.json", whole.substr(0, whole.size() / 2));
  compare.write_text("newer.json", R"({"schema": "ptbench.result/3", "runs": [1]})");
  compare.write("none.json", {});
  compare.make_folder("empty");
  check_usage_error(compare({"a.json", "cut.json"}), "cut.json' is not JSON");
  check_usage_error(compare({"a.json", "newer.json"}), "newer ptbench");
  check_usage_error(compare({"absent.json", "a.json"}), "absent.json");
  check_usage_error(compare({"a.json", "empty"}), "no .json files");
  check_usage_error(compare({"a.json", "other.json"}),
                    "no run is in both: BASE has 'mlp/serial/n1/b64/fp32', NEW has 'other' and 1 "
                    "more");
  check_usage_error(compare({"a.json", "none.json"}), "NEW has none");
  check_usage_error(compare({"a.json"}), "1 was given");
  check_usage_error(compare({"a.json", "same.json", "-o", "c.txt"}), "c.txt");
  check_usage_error(compare({"a.json", "same.json", "-o", "./a.json"}), "is read");
  check_usage_error(compare({"a.json", "same.json", "-o", "c.md", "-o", "./c.md"}), "c.md");
  check_usage_error(compare({"a.json", "same.json", "-o", "nowhere/c.md"}), "nowhere");
  check_usage_error(compare({"a.json", "same.json", "--detect", "much"}), "--detect");
  CHECK_FALSE(compare.text("c.md").has_value());
}

TEST_CASE("comparisons are written in every format", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("b.json", {run_named(kId, 1.05)});
  const ProgramResult result =
      compare({"a.json", "b.json", "-o", "c.md", "-o", "c.json", "-o", "c.xml", "--json"});
  CHECK(result.exit_code == 3);
  CHECK_THAT(compare.text("c.md").value(), Contains("| **slower** |"));
  CHECK_THAT(compare.text("c.xml").value(), Contains("<failure type=\"slower\""));
  CHECK(compare.text("c.json").value() == result.output);
  CHECK_THAT(result.errors, Contains("slower") && Contains("1 slower\n"));
  const auto document = nlohmann::json::parse(result.output);
  CHECK(document.at("schema") == "ptbench.comparison/1");
  CHECK(document.at("runs").at(0).at("verdict") == "slower");
  CHECK(document.at("runs").at(0).at("change").get<double>() == Approx(0.05));
  CHECK(compare({"a.json", "b.json", "-o", "-"}).output == result.output);
}

TEST_CASE("folders and further files are pooled", "[run]") {
  const CompareCommand compare;
  compare.make_folder("before");
  compare.write("before/1.json", {run_named(kId)});
  compare.write("before/2.json", {run_named(kId)});
  compare.write_text("before/notes.txt", "no result");
  compare.write("b.json", {run_named(kId)});
  compare.write("c.json", {run_named(kId)});
  const ProgramResult result = compare({"before", "b.json", "--new", "c.json"});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("n 10/10"));
  const ProgramResult named = compare({"--base", "before", "--new", "b.json"});
  CHECK_THAT(named.output, Contains("n 10/5"));
}

TEST_CASE("hostile ids reach no terminal", "[run]") {
  const CompareCommand compare;
  const std::string id = "a|b`\n\x1b[2J<img>\u009b" + std::string(200, 'x');
  compare.write("a.json", {run_named(id)});
  compare.write("b.json", {run_named(id, 1.05)});
  const ProgramResult result = compare({"a.json", "b.json", "-o", "c.md", "-o", "c.xml"});
  CHECK(result.exit_code == 3);
  const std::string markdown = compare.text("c.md").value();
  const std::string junit = compare.text("c.xml").value();
  CHECK_THAT(markdown + junit, !Contains("<img>"));
  for (const std::string& text : {result.output, markdown, junit}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\u009b") == std::string::npos);
  }
}

TEST_CASE("a history is begun, compared with and added to", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  check_usage_error(compare({"a.json", "--history", "h.jsonl"}), "has no results");
  const ProgramResult begun =
      compare({"a.json", "--history", "h.jsonl", "--append", "-o", "c.md", "-o", "c.json"});
  CHECK(begun.exit_code == 0);
  CHECK_THAT(begun.output, Catch::StartsWith("new ") && Catch::EndsWith("1 new\n"));
  CHECK_THAT(begun.errors, Contains("was created: all runs are new"));
  CHECK_THAT(compare.text("c.md").value(), Contains("1 new"));
  CHECK_THAT(compare.text("c.json").value(), Contains("\"verdict\": \"new\""));
  // One other day does not show that days differ by less than 5 %.
  const ProgramResult second = compare({"a.json", "--history", "h.jsonl", "--append"});
  CAPTURE(second.errors);
  CHECK(second.exit_code == 0);
  CHECK_THAT(second.output, Contains("ambiguous") && Contains("n 5/5 window"));
  const ProgramResult third = compare({"a.json", "--history", "h.jsonl"});
  CHECK_THAT(third.output, Catch::StartsWith("same ") && Contains("n 10/5 window"));
  const ProgramResult last = compare({"a.json", "--history", "h.jsonl", "--last", "1"});
  CHECK_THAT(last.output, Contains("n 5/5"));
  const std::string text = compare.text("h.jsonl").value();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK_THAT(text, Contains("\"step_seconds\":[]"));
}

TEST_CASE("a gate that is run again with the same result gives the same verdict", "[run]") {
  const CompareCommand compare;
  compare.write_text("a.json", made_at(0, file_of({run_named(kId)})).dump());
  compare.write_text("b.json", made_at(1, file_of({run_named(kId, 1.001)})).dump());
  compare.write_text("slow.json", made_at(2, file_of({run_named(kId, 1.1)})).dump());
  const auto gate = [&](const std::string& result, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{result, "--history", "h.jsonl"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return compare(arguments);
  };
  const auto check_known = [&](const ProgramResult& first, const ProgramResult& again) {
    CAPTURE(again.errors);
    CHECK(again.exit_code == first.exit_code);
    CHECK(again.output == first.output);
    CHECK_THAT(again.errors, Contains("NEW is already in history 'h.jsonl': it was compared with "
                                      "the other entries, and not added again"));
  };
  const ProgramResult begun = gate("a.json", {"--append"});
  CHECK_THAT(begun.errors, Contains("was created"));
  check_known(begun, gate("a.json", {"--append"}));
  check_usage_error(gate("a.json"), "has no results except NEW itself");

  const ProgramResult same = gate("b.json", {"--append"});
  CHECK_THAT(same.output, Contains("n 5/5"));
  for (int retry = 0; retry < 2; ++retry) check_known(same, gate("b.json", {"--append"}));
  const ProgramResult slow = gate("slow.json", {"--append", "--accept"});
  CHECK(slow.exit_code == 3);
  check_known(slow, gate("slow.json", {"--append", "--accept"}));
  CHECK(gate("slow.json").exit_code == 3);
  // Also beyond the entries that count.
  const ProgramResult old = gate("a.json", {"--append", "--last", "1"});
  CHECK_THAT(old.output, Contains("faster"));
  CHECK_THAT(old.errors, Contains("not added again"));
  const std::string text = compare.text("h.jsonl").value();
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("several files of a side are one entry of a history", "[run]") {
  const CompareCommand compare;
  for (int minute = 0; minute < 4; ++minute)
    compare.write_text(std::to_string(minute) + ".json",
                       made_at(minute, file_of({run_named(kId, 1 + 0.0001 * minute)})).dump());
  REQUIRE(compare({"0.json", "--history", "h.jsonl", "--append"}).exit_code == 0);
  const std::vector<std::string> both{"1.json",    "--new",   "2.json",
                                      "--history", "h.jsonl", "--append"};
  const ProgramResult first = compare(both);
  CHECK_THAT(first.output, Contains("n 5/10"));
  const ProgramResult again = compare(both);
  CHECK(again.output == first.output);
  CHECK_THAT(again.errors, Contains("not added again"));
  const ProgramResult turned =
      compare({"2.json", "--new", "1.json", "--history", "h.jsonl", "--append"});
  CHECK(turned.output == first.output);
  CHECK_THAT(turned.errors, Contains("not added again"));
  const ProgramResult part =
      compare({"0.json", "--new", "3.json", "--history", "h.jsonl", "--append"});
  CHECK_THAT(part.errors, Contains("a part of NEW is already in history"));
  const std::string text = compare.text("h.jsonl").value();
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("a machine that was changed begins anew in its history", "[run]") {
  const CompareCommand compare;
  const auto gate = [&](int minute, double times, const std::string& cpu,
                        const std::vector<std::string>& more = {}) {
    ordered_json run = run_named(kId, times);
    run["strategy"]["plan_hash"] = cpu == "New CPU" ? "b2" : "a1";
    compare.write_text("new.json", made_at(minute, file_of({run}, cpu)).dump());
    std::vector<std::string> arguments{"new.json", "--history", "h.jsonl", "--append"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return compare(arguments);
  };
  for (int minute = 0; minute < 3; ++minute)
    REQUIRE(gate(minute, 1 + 0.0001 * minute, "Old CPU").exit_code == 0);
  const ProgramResult changed = gate(3, 0.7, "New CPU", {"-o", "c.md"});
  CHECK(changed.exit_code == 0);
  CHECK_THAT(changed.output, Contains("no run was judged: 1 incomparable") && Contains("n 15/5"));
  CHECK_THAT(compare.text("c.md").value(), Contains("**no run was judged: 1 incomparable"));
  CHECK_THAT(changed.errors,
             Contains("nothing was judged: different environments: cpu.model Old CPU / New CPU") &&
                 Contains("appended as the first entry of this environment"));

  const ProgramResult next = gate(4, 0.701, "New CPU", {"-o", "c.md", "-o", "c.json"});
  CAPTURE(next.output);
  CHECK(next.exit_code == 0);
  CHECK(next.errors.empty());
  CHECK_THAT(next.output, Catch::StartsWith("remark: left out of BASE: 3 entries of the history "
                                            "(cpu.model Old CPU / New CPU)\nambiguous ") &&
                              Contains("n 5/5"));
  CHECK_THAT(compare.text("c.md").value(), Contains("left out of BASE: 3 entries"));
  CHECK(nlohmann::json::parse(compare.text("c.json").value()).at("left_out").at("entries") == 3);
  CHECK(gate(5, 0.91, "New CPU").exit_code == 3);
  CHECK(gate(6, 0.7, "New CPU", {"--strict"}).exit_code == 0);
  // The older machine's times count where that is asked for, up to the change.
  const ProgramResult ignored = gate(7, 1, "Old CPU", {"--ignore-environment"});
  CHECK(ignored.exit_code == 3);
  CHECK_THAT(ignored.output, Contains("n 15/5") && !Contains("left out"));
}

TEST_CASE("who compares unlike plans learns how to have one", "[run]") {
  const CompareCommand compare;
  for (const std::string plan : {"a1", "b2"}) {
    ordered_json run = run_named(kId);
    run["strategy"]["plan_hash"] = plan;
    compare.write(plan + ".json", {run, run_named("other")});
  }
  const ProgramResult unlike = compare({"a1.json", "b2.json"});
  CHECK(unlike.exit_code == 0);
  CHECK_THAT(unlike.output, Contains("plan a1 / b2"));
  CHECK_THAT(unlike.errors, Contains("1 of 2 runs got no verdict") &&
                                Contains("ptbench: remedy: measure both sides with one --plan"));
  CHECK(compare({"a1.json", "b2.json", "--ignore-environment"}).errors.empty());
}

TEST_CASE("a run whose plan changed begins anew on its own", "[run]") {
  const CompareCommand compare;
  const auto gate = [&](int minute, double times, const std::string& plan) {
    ordered_json run = run_named(kId, times);
    run["strategy"]["plan_hash"] = plan;
    compare.write_text("new.json", made_at(minute, file_of({run, run_named("other")})).dump());
    return compare({"new.json", "--history", "h.jsonl", "--append"});
  };
  REQUIRE(gate(0, 1, "a1").exit_code == 0);
  const ProgramResult changed = gate(1, 1.3, "b2");
  CHECK(changed.exit_code == 0);
  CHECK_THAT(changed.output, !Contains("no run was judged"));
  CHECK_THAT(changed.errors, Contains("1 of 2 runs were not judged: different environments: plan "
                                      "a1 / b2; appended as the first entry"));
  const ProgramResult next = gate(2, 1.3, "b2");
  CHECK_THAT(next.output, Contains("left out of BASE: 1 entry of the history (plan a1 / b2)") &&
                              Contains("n 5/5") && Contains("n 10/5") &&
                              Contains("\n1 same, 1 ambiguous\n"));
  CHECK(gate(3, 1.45, "b2").exit_code == 3);
}

TEST_CASE("what is worse than a history is added only where it is accepted", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId), run_named("other")});
  compare.write("slow.json", {run_named(kId, 1.1), run_named("other")});
  compare.write("slower.json", {run_named(kId, 1.21), run_named("other")});
  compare.write("lacks.json", {run_named(kId, 1.1)});
  for (int entry = 0; entry < 3; ++entry)
    REQUIRE(compare({"a.json", "--history", "h.jsonl", "--append"}).exit_code == 0);
  const std::string before = compare.text("h.jsonl").value();
  for (const char* worse : {"slow.json", "lacks.json"}) {
    const ProgramResult refused = compare({worse, "--history", "h.jsonl", "--append"});
    CHECK(refused.exit_code == 3);
    CHECK_THAT(refused.errors, Contains("was not added") && Contains("--accept"));
    CHECK(compare.text("h.jsonl").value() == before);
  }

  const ProgramResult accepted =
      compare({"slow.json", "--history", "h.jsonl", "--append", "--accept"});
  CHECK(accepted.exit_code == 3);
  CHECK(accepted.errors.empty());
  // Judged against what was accepted, and the other run against all that was measured.
  const ProgramResult same = compare({"slow.json", "--history", "h.jsonl"});
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output,
             Contains("n 5/5") && Contains("n 20/5") && Contains("1 same, 1 ambiguous\n"));
  CHECK_THAT(compare.text("h.jsonl").value(), Contains("\"accepted\":[\"" + std::string(kId)));
  CHECK(compare({"slower.json", "--history", "h.jsonl"}).exit_code == 3);
  CHECK_THAT(compare({"a.json", "--history", "h.jsonl"}).output, Contains("1 faster"));
  CHECK(compare({"lacks.json", "--history", "h.jsonl", "--append", "--accept"}).exit_code == 3);
  CHECK(compare({"lacks.json", "--history", "h.jsonl"}).exit_code == 0);
}

TEST_CASE("a slow creep is found by the anchor of a history", "[run]") {
  const CompareCommand compare;
  ProgramResult last;
  int minute = 0;
  for (; minute < 30 && last.exit_code != 3; ++minute) {
    compare.write_text("new.json",
                       made_at(minute, file_of({run_named(kId, 1 + 0.003 * minute)})).dump());
    last = compare({"new.json", "--history", "h.jsonl", "--append", "-o", "c.json"});
  }
  CHECK(last.exit_code == 3);
  CHECK(minute <= 21);
  CHECK_THAT(last.output, Contains("n 15/5 anchor") && Contains("slower than the anchor, the first "
                                                                "3 entries; against the last 10"));
  const auto run = nlohmann::json::parse(compare.text("c.json").value()).at("runs").at(0);
  CHECK(run.at("decided_by") == "anchor");
  CHECK(run.at("window").at("entries") == 10);
  // Further back than the window.
  CHECK_THAT(compare({"new.json", "--history", "h.jsonl", "--anchor", "20"}).output,
             Contains(" window"));
}

TEST_CASE("runs that a history does not have are new", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("other.json", {run_named("other")});
  compare.write("failed.json", {{{"id", "other"}, {"status", "skipped"}}});
  REQUIRE(compare({"a.json", "--history", "h.jsonl", "--append"}).exit_code == 0);
  check_usage_error(compare({"other.json", "--history", "h.jsonl"}), "no run is in both");
  check_usage_error(compare({"failed.json", "--history", "h.jsonl", "--append"}),
                    "no run is in both");
  const ProgramResult added = compare({"other.json", "--history", "h.jsonl", "--append"});
  CHECK(added.exit_code == 0);
  CHECK_THAT(added.output, Catch::EndsWith("1 new\n"));
  CHECK_THAT(added.errors, Contains("has none of the runs of NEW"));
  const std::string text = compare.text("h.jsonl").value();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("a history is no result, and no result is a history", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("a.jsonl", {run_named(kId)});
  check_usage_error(compare({"a.json", "--history", "a.json", "--append"}), ".jsonl");
  check_usage_error(compare({"./a.jsonl", "--history", "a.jsonl"}), "given twice");
}

TEST_CASE("a result counts once", "[run]") {
  const CompareCommand compare;
  compare.make_folder("before");
  compare.write("before/1.json", {run_named(kId)});
  compare.write("b.json", {run_named(kId)});
  check_usage_error(compare({"b.json", "b.json"}), "'b.json' is given twice");
  check_usage_error(compare({"before", "b.json", "--base", "before/1.json"}),
                    "'before/1.json' is given twice");
  check_usage_error(compare({"--self-check", "before", "before/../before/1.json"}), "given twice");
  ordered_json file = file_of({run_named(kId)});
  file["created"] = "2025-06-30T12:34:56Z";
  compare.write_text("c.json", file.dump());
  compare.write_text("copy.json", file.dump());
  check_usage_error(compare({"c.json", "b.json", "--base", "copy.json"}), "hold the same record");
  const ProgramResult itself = compare({"c.json", "copy.json"});
  check_usage_error(itself, "'c.json' and 'copy.json' hold the same record");
  CHECK_THAT(itself.errors, Contains("measure again"));
  check_usage_error(compare({"before", "c.json", "--base", "copy.json"}), "hold the same record");
}

TEST_CASE("a slowed side and a debug build are told", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  ordered_json run = run_named(kId, 1.05);
  run["samples"]["slowdown"] = 0.05;
  ordered_json file = file_of({run});
  file["generator"] = {{"build_type", "Debug"}};
  compare.write_text("b.json", file.dump());
  const ProgramResult result = compare({"a.json", "b.json"});
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.output, Contains("build_type not known / Debug") &&
                                Contains("slowdown none / 5.00 %") && Contains("slower"));
}

TEST_CASE("an entry of a history that cannot be read is named", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  REQUIRE(compare({"a.json", "--history", "h.jsonl", "--append"}).exit_code == 0);
  compare.write_text("h.jsonl", compare.text("h.jsonl").value() + "{\"schema\"\n");
  check_usage_error(compare({"a.json", "--history", "h.jsonl", "--append"}), "h.jsonl:2");
}

TEST_CASE("a self-check tells what can be told apart, and is remembered", "[run]") {
  const CompareCommand compare;
  compare.write("a.json", {run_named(kId)});
  compare.write("b.json", {run_named(kId, 1.01)});
  const ProgramResult result = compare({"--self-check", "a.json", "b.json"});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("false alarms") && Contains("near") && Contains(kId));
  CHECK_THAT(result.errors, Contains("learnt for host 'vm-17'") && Contains("noise.json"));
  CHECK_THAT(compare.text("cache/ptbench/noise.json").value(), Contains("vm-17"));
  const ProgramResult json = compare({"--self-check", "a.json", "--json"});
  CHECK(nlohmann::json::parse(json.output).at("schema") == "ptbench.self_check/1");
  compare.write("failed.json", {run_failed(kId)});
  check_usage_error(compare({"--self-check", "failed.json"}), "3 clean repetitions");
  check_usage_error(compare({"--self-check"}), "--self-check needs results");
  const std::string learnt = compare.text("cache/ptbench/noise.json").value();
  CHECK(compare({"--self-check", "a.json"}).exit_code == 0);
  CHECK(compare.text("cache/ptbench/noise.json").value() == learnt);
}

}  // namespace
}  // namespace ptbench::testing

#include "src/judge/history_window.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::run_of_seconds;

RunRecord steady_run(double seconds, std::string id = "run") {
  RunRecord run = run_of_seconds({seconds, seconds, seconds});
  run.id = std::move(id);
  return run;
}

RunRecord unmeasured(Status status, std::string id = "run") {
  RunRecord run;
  run.id = std::move(id);
  run.status = status;
  return run;
}

ResultFile entry(std::vector<RunRecord> runs) {
  ResultFile file;
  file.runs = std::move(runs);
  return file;
}

ResultFile on_cpu(const std::string& model, std::vector<RunRecord> runs) {
  ResultFile file = entry(std::move(runs));
  file.environment.cpu.model = model;
  return file;
}

RunRecord planned(std::optional<std::string> plan, RunRecord run) {
  run.strategy.plan_hash = std::move(plan);
  return run;
}

/// What is left of entries, oldest first: "a b|b".
std::string left_of(const std::vector<ResultFile>& entries, const CompareOptions& options = {},
                    const std::vector<ResultFile>& fresh = {}) {
  std::string text;
  for (const ResultFile& file : history_window(entries, fresh, {}, options, {}).entries) {
    if (!text.empty()) text += '|';
    for (std::size_t index = 0; index < file.runs.size(); ++index)
      text += (index == 0 ? "" : " ") + file.runs[index].id;
  }
  return text;
}

}  // namespace

TEST_CASE("a history without a change counts as a whole", "[measure]") {
  CHECK(left_of({}).empty());
  CHECK(left_of({entry({steady_run(0.006, "a")})}) == "a");
  CHECK(left_of({entry({steady_run(0.006, "a")}), entry({steady_run(0.00605, "a")}),
                 entry({steady_run(0.006, "a")})}) == "a|a|a");
}

TEST_CASE("a history counts by quartiles where all of its entries have them", "[measure]") {
  // Medians that scatter, about quartiles that do not.
  const auto scattered = [](double quartile) {
    RunRecord run = run_of_seconds({0.006, 0.008, 0.007});
    run.id = "a";
    for (RepetitionRecord& repetition : run.samples.repetitions)
      repetition.lower_quartile_seconds = quartile;
    return run;
  };
  const RunRecord before = scattered(0.005);
  const RunRecord after = scattered(0.0055);
  CHECK(left_of({entry({before}), entry({after}), entry({after})}) == "a|a");
  RunRecord without = before;
  for (RepetitionRecord& repetition : without.samples.repetitions)
    repetition.lower_quartile_seconds.reset();
  CHECK(left_of({entry({without}), entry({after}), entry({after})}) == "a|a|a");
  CHECK(left_of({entry({before}), entry({without}), entry({after})}) == "a|a|a");
}

TEST_CASE("a history counts from the last change on, run by run", "[measure]") {
  CHECK(left_of({entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                 entry({steady_run(0.0066, "a"), steady_run(0.006, "b")}),
                 entry({steady_run(0.0066, "a"), steady_run(0.006, "b")})}) == "b|a b|a b");
}

TEST_CASE("one entry that differs is no change, but counts for nothing", "[measure]") {
  const std::vector<ResultFile> entries{entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                                        entry({steady_run(0.007, "a"), steady_run(0.006, "b")}),
                                        entry({steady_run(0.006, "a"), steady_run(0.006, "b")})};
  CHECK(left_of(entries) == "a b|b|a b");
  CHECK(left_of({entries[0], entries[1]}) == "a b|b");
}

TEST_CASE("an accepted change counts from its entry on", "[measure]") {
  std::vector<ResultFile> entries{entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                                  entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                                  entry({steady_run(0.007, "a"), steady_run(0.006, "b")})};
  entries[2].accepted = {"a"};
  CHECK(left_of(entries) == "b|b|a b");
}

TEST_CASE("the anchor is there once there are more entries", "[measure]") {
  const auto anchor_of = [](Size count, const HistoryParts& parts = {}) {
    const std::vector<ResultFile> entries(
        static_cast<std::size_t>(count),
        entry({steady_run(0.006, "a"), unmeasured(Status::failed)}));
    return history_window(entries, {}, parts, {}, {}).anchor;
  };
  CHECK(anchor_of(3).empty());
  REQUIRE(anchor_of(4).size() == 3);
  CHECK(anchor_of(4)[0].runs.size() == 1);
  CHECK(anchor_of(20, {.window = 2, .anchor = 5}).size() == 5);
}

TEST_CASE("entries of another environment than the newest are left out and counted", "[measure]") {
  const std::vector<ResultFile> entries{
      on_cpu("A", {steady_run(0.006, "a"), steady_run(0.006, "b")}),
      on_cpu("B", {steady_run(0.004, "a"), steady_run(0.004, "b")}),
      on_cpu("A", {steady_run(0.006, "a")}),
      on_cpu("B", {steady_run(0.004, "a"), steady_run(0.004, "b")})};
  // The times of another environment are no change.
  CHECK(left_of(entries) == "a b|a b");
  const HistoryWindow window = history_window(entries, {}, {}, {}, {});
  CHECK(window.left_out.entries == 2);
  CHECK(window.left_out.differences == std::vector<std::string>{"cpu.model A / B"});
  CHECK(window.runs_left_out.empty());
  CHECK(left_of(entries, {.ignore_environment = true}) == "a|b|a|b");
}

TEST_CASE("machines that take turns are each held against their own entries", "[measure]") {
  const std::vector<ResultFile> entries{
      on_cpu("A", {steady_run(0.006, "a"), steady_run(0.006, "b")}),
      on_cpu("B", {steady_run(0.004, "a"), steady_run(0.004, "b")})};
  CHECK(left_of(entries, {}, {on_cpu("A", {steady_run(0.006, "a")})}) == "a|b");
  CHECK(left_of(entries, {}, {on_cpu("B", {steady_run(0.004, "a")})}) == "a b");
  CHECK(left_of(entries, {}, {on_cpu("C", {steady_run(0.004, "a")})}) == "a b");
  const std::vector<ResultFile> plans{entry({planned("a1", steady_run(0.006, "a"))}),
                                      entry({planned("b2", steady_run(0.006, "a"))})};
  CHECK(left_of({plans[0], plans[1], plans[1]}, {}, {plans[0]}) == "a");
}

TEST_CASE("a run's own circumstances leave out its own entries only", "[measure]") {
  const std::vector<ResultFile> entries{
      entry({planned("a1", steady_run(0.006, "a")), planned("c3", steady_run(0.006, "b"))}),
      entry({planned("b2", steady_run(0.006, "a")), planned("c3", steady_run(0.006, "b"))})};
  CHECK(left_of(entries) == "b|a b");
  Comparison comparison;
  comparison.runs.resize(2);
  comparison.runs[0].id = "a";
  comparison.runs[1].id = "b";
  add_left_out(history_window(entries, {}, {}, {}, {}), comparison);
  CHECK_FALSE(comparison.left_out.has_value());
  REQUIRE(comparison.runs[0].left_out.has_value());
  CHECK(comparison.runs[0].left_out->entries == 1);
  CHECK(comparison.runs[0].left_out->differences == std::vector<std::string>{"plan a1 / b2"});
  CHECK_FALSE(comparison.runs[1].left_out.has_value());
  CHECK(left_of(entries, {.ignore_environment = true}) == "a b|a b");
}

TEST_CASE("what the newest entry does not know is taken from older ones", "[measure]") {
  CHECK(left_of({entry({planned("a1", steady_run(0.006, "a"))}),
                 entry({planned("b2", steady_run(0.006, "a"))}),
                 entry({planned({}, steady_run(0.006, "a"))})}) == "a|a");
  // A run that failed knows its environment only.
  CHECK(left_of({on_cpu("A", {planned("a1", steady_run(0.006, "a"))}),
                 on_cpu("B", {planned("b2", steady_run(0.006, "a"))}),
                 on_cpu("B", {unmeasured(Status::failed, "a")})}) == "a|a");
}

TEST_CASE("an accepted change counts also beyond another environment", "[measure]") {
  std::vector<ResultFile> entries{on_cpu("A", {steady_run(0.006, "a")}),
                                  on_cpu("B", {steady_run(0.006, "a")}),
                                  on_cpu("A", {steady_run(0.0066, "a")})};
  entries[2].accepted = {"a"};
  const std::vector<ResultFile> left = history_window(entries, {}, {}, {}, {}).entries;
  REQUIRE(left.size() == 1);
  CHECK(left[0].runs[0].samples.repetitions[0].median_seconds == 0.0066);
}

TEST_CASE("what was not measured is no change", "[measure]") {
  CHECK(left_of({entry({steady_run(0.006, "a")}), entry({unmeasured(Status::failed, "a")}),
                 entry({steady_run(0.006, "a")})}) == "a|a|a");
  CHECK(left_of({entry({steady_run(0.006, "a")}), entry({unmeasured(Status::failed, "a")})}) ==
        "a|a");
}

TEST_CASE("a run that the newest entry gave up is no longer missed", "[measure]") {
  CHECK(left_of({entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                 entry({steady_run(0.006, "a")})}) == "a|a");
  CHECK(left_of({entry({steady_run(0.006, "a"), steady_run(0.006, "b")}),
                 entry({steady_run(0.006, "a"), unmeasured(Status::skipped, "b")})}) == "a|a");
  // Nothing in common: other runs were begun, none were given up.
  CHECK(left_of({entry({steady_run(0.006, "a")}), entry({steady_run(0.006, "b")})}) == "a|b");
  CHECK(left_of({entry({steady_run(0.006, "a")}), entry({})}) == "a");
}

}  // namespace ptbench

#include "src/measure/history_window.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/measure/simulated_runs.h"

namespace ptbench {
namespace {

using testing::run_of_seconds;

RunRecord steady(double seconds, std::string id = "run") {
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

/// What is left of entries, oldest first: "a b|b".
std::string left_of(const std::vector<ResultFile>& entries) {
  std::string text;
  for (const ResultFile& file : history_window(entries, {}, {})) {
    if (!text.empty()) text += '|';
    for (std::size_t index = 0; index < file.runs.size(); ++index)
      text += (index == 0 ? "" : " ") + file.runs[index].id;
  }
  return text;
}

}  // namespace

TEST_CASE("a history without a change counts as a whole", "[measure]") {
  CHECK(left_of({}).empty());
  CHECK(left_of({entry({steady(0.006, "a")})}) == "a");
  CHECK(left_of({entry({steady(0.006, "a")}), entry({steady(0.00605, "a")}),
                 entry({steady(0.006, "a")})}) == "a|a|a");
}

TEST_CASE("a history counts from the last change on, run by run", "[measure]") {
  CHECK(left_of({entry({steady(0.006, "a"), steady(0.006, "b")}),
                 entry({steady(0.0066, "a"), steady(0.006, "b")}),
                 entry({steady(0.0066, "a"), steady(0.006, "b")})}) == "b|a b|a b");
  // What was so before the change is no longer so, though it may look like it.
  CHECK(left_of({entry({steady(0.006, "a")}), entry({steady(0.007, "a")}),
                 entry({steady(0.006, "a")})}) == "a");
}

TEST_CASE("a change counts whatever the environments", "[measure]") {
  std::vector<ResultFile> entries{entry({steady(0.006, "a")}), entry({steady(0.0066, "a")})};
  entries[1].runs[0].strategy.plan_hash = "b2";
  entries[0].runs[0].strategy.plan_hash = "a1";
  CHECK(left_of(entries) == "a");
}

TEST_CASE("what was not measured is no change", "[measure]") {
  CHECK(left_of({entry({steady(0.006, "a")}), entry({unmeasured(Status::failed, "a")}),
                 entry({steady(0.006, "a")})}) == "a|a|a");
  CHECK(left_of({entry({steady(0.006, "a")}), entry({unmeasured(Status::failed, "a")})}) == "a|a");
}

TEST_CASE("a run that the newest entry gave up is no longer missed", "[measure]") {
  CHECK(left_of({entry({steady(0.006, "a"), steady(0.006, "b")}), entry({steady(0.006, "a")})}) ==
        "a|a");
  CHECK(left_of({entry({steady(0.006, "a"), steady(0.006, "b")}),
                 entry({steady(0.006, "a"), unmeasured(Status::skipped, "b")})}) == "a|a");
  // Nothing in common: other runs were begun, none were given up.
  CHECK(left_of({entry({steady(0.006, "a")}), entry({steady(0.006, "b")})}) == "a|b");
  CHECK(left_of({entry({steady(0.006, "a")}), entry({})}) == "a");
}

}  // namespace ptbench

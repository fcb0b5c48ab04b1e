#include "reports/troubles.h"

#include <catch2/catch.hpp>

#include "tests/reports/example.h"

namespace ptbench {
namespace {

RunRecord run_with(std::vector<WarningRecord> warnings) {
  RunRecord run;
  run.warnings = std::move(warnings);
  return run;
}

const WarningRecord kLoad{"foreign-load", "other programs took 12 %", "End what runs."};
const WarningRecord kMoved{"mixed-placement", "the cores moved", "More --repeats."};
const WarningRecord kNoisy{"too-noisy", "the repetitions scatter by 5 %", "Measure again."};
const WarningRecord kSlow{"slowdown", "each step was longer on purpose", "Leave it out."};

}  // namespace

TEST_CASE("warnings of one cause are one, with the remedy of the most telling", "[reports]") {
  const std::vector<RunRecord> runs{run_with({kNoisy, kMoved, kLoad, kSlow})};
  const std::vector<MergedWarning> warnings = merged_warnings(runs);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].name == "noise");
  CHECK(warnings[0].codes ==
        std::vector<std::string>{"foreign-load", "mixed-placement", "too-noisy"});
  CHECK(warnings[0].message ==
        "other programs took 12 %; also, the cores moved, repetitions scatter");
  CHECK(warnings[0].remedy == "End what runs.");
  CHECK(warnings[0].runs == 1);
  CHECK(warnings[1].name == "slowdown");
}

TEST_CASE("a GPU that was throttled is a cause of noise", "[reports]") {
  const std::vector<RunRecord> runs{run_with(
      {kNoisy, {"device-throttled", "the GPU was throttled in 3 of 4 slices", "Cool it."}})};
  const std::vector<MergedWarning> warnings = merged_warnings(runs);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message == "the GPU was throttled in 3 of 4 slices; also, repetitions scatter");
  CHECK(warnings[0].remedy == "Cool it.");
}

TEST_CASE("what was chosen beside other programs is one warning", "[reports]") {
  const std::vector<RunRecord> runs{
      run_with({{"communication-chosen-under-load", "while communication was timed", "--plan"}}),
      run_with({{"operators-chosen-under-load", "while operators were timed", "--plan"}})};
  const std::vector<MergedWarning> warnings = merged_warnings(runs);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].name == "chosen-under-load");
  CHECK(warnings[0].message ==
        "while operators were timed; also, ranks' communication was chosen so too");
  CHECK(warnings[0].runs == 2);
}

TEST_CASE("a warning that is alone of its cause is told as it is", "[reports]") {
  const std::vector<RunRecord> runs{run_with({kNoisy}), run_with({kNoisy, kSlow})};
  const std::vector<MergedWarning> warnings = merged_warnings(runs);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].name == "too-noisy");
  CHECK(warnings[0].message == kNoisy.message);
  CHECK(warnings[0].remedy == kNoisy.remedy);
  CHECK(warnings[0].runs == 2);
}

TEST_CASE("runs with any of a cause's warnings are counted once", "[reports]") {
  const std::vector<RunRecord> runs{run_with({kLoad, kNoisy}), run_with({kMoved}), run_with({})};
  const std::vector<MergedWarning> warnings = merged_warnings(runs);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].runs == 2);
  CHECK(merged_warnings({}).empty());
}

TEST_CASE("runs with one status and reason are one trouble", "[reports]") {
  std::vector<RunRecord> runs(4, testing::bare_run(Status::skipped, "no GPU"));
  runs[0].status = Status::ok;
  runs[1].id = "first";
  runs[3] = testing::bare_run(Status::failed, "no GPU");
  const std::vector<Trouble> troubles = troubles_of(runs);
  REQUIRE(troubles.size() == 2);
  CHECK(troubles[0].status == Status::skipped);
  CHECK(subject_of(troubles[0]) == "first and 1 more");
  CHECK(troubles[1].status == Status::failed);
  CHECK(subject_of(troubles[1]) == runs[3].id);
}

}  // namespace ptbench

// The commands that the shipped CI files run, run here.
#include <filesystem>
#include <sstream>

#include "tests/run/command.h"

namespace ptbench {
namespace {

using Catch::Contains;
using testing::ProgramResult;
using testing::RunCommand;

std::size_t indent_of(const std::string& line) { return line.find_first_not_of(' '); }

/// The lines below the one that is `head`, without their indent: of a script in YAML.
std::string block_below(const std::string& text, const std::string& head) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line.substr(std::min(indent_of(line), line.size())) != head) {
  }
  const std::size_t outer = indent_of(line);
  std::string block;
  while (std::getline(lines, line) && indent_of(line) > outer)
    block += line.substr(indent_of(line)) + "\n";
  REQUIRE_FALSE(block.empty());
  return block;
}

ProgramResult run_script(const RunCommand& place, const std::string& script,
                         const std::string& fresh) {
  return testing::run_program(
      {"/bin/bash", "-e", "-o", "pipefail", "-c", script},
      {.folder = place.path("."),
       .environment = {"BASE=" PTBENCH_EXECUTABLE, "NEW=" + fresh, "DETECT=5%",
                       "ARGUMENTS=-w mlp -b 8 --threads 1 --max-pairs 3",
                       "GITHUB_STEP_SUMMARY=" + place.path("summary.md").string(),
                       "XDG_CACHE_HOME=" + place.path("cache").string()},
       .deadline = std::chrono::minutes(4)});
}

/// One that breaks as soon as it trains.
std::string broken_build(const RunCommand& place) {
  place.write("broken",
              "#!/bin/sh\ncase \"$*\" in run*--pass=next*|run*--pass=first*) kill -9 $$;; esac\n"
              "exec '" PTBENCH_EXECUTABLE "' \"$@\"\n");
  std::filesystem::permissions(place.path("broken"), std::filesystem::perms::owner_all);
  return place.path("broken").string();
}

}  // namespace

TEST_CASE("the GitHub action judges, writes its reports and ends as the gate does", "[workflows]") {
  const RunCommand place;
  const std::string script = block_below(testing::source_text("action.yml"), "run: |");
  SECTION("two equal builds") {
    const ProgramResult result = run_script(place, script, PTBENCH_EXECUTABLE);
    CAPTURE(result.errors);
    CHECK((result.exit_code == 0 || result.exit_code == 3));  // a busy machine may be unfair
    CHECK_THAT(place.text("summary.md"), Contains("mlp/serial"));
    CHECK_THAT(place.text("ptbench-gate.xml"), Contains("<testsuite"));
    CHECK(place.json("ptbench-gate/new.json").at("runs").size() == 1);
  }
  SECTION("a build that breaks") {
    const ProgramResult result = run_script(place, script, broken_build(place));
    CAPTURE(result.errors);
    CHECK(result.exit_code == 3);
    CHECK_THAT(place.text("summary.md"), Contains("failed"));
  }
}

TEST_CASE("the GitLab job judges and writes its reports", "[workflows]") {
  const RunCommand place;
  std::string script = block_below(testing::source_text("docs/gate.gitlab-ci.yml"), "script:");
  REQUIRE(script.starts_with("- $NEW gate "));
  const ProgramResult result = run_script(place, script.substr(2), broken_build(place));
  CAPTURE(result.errors);
  CHECK(result.exit_code == 3);
  CHECK_THAT(place.text("ptbench-gate.md"), Contains("failed"));
  CHECK_THAT(place.text("ptbench-gate.xml"), Contains("<failure"));
}

}  // namespace ptbench

// Pages as users have ptbench make them.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

constexpr const char* kNoLibrary = "PTBENCH_CHART_JS=";

ProgramResult ptbench(const RunCommand& run, std::vector<std::string> arguments,
                      std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
  environment.push_back("XDG_CACHE_HOME=" + run.path("cache").string());
  return run_program(arguments, {.folder = run.path("."), .environment = environment});
}

void check_page(const std::string& html) {
  CHECK_THAT(html, StartsWith("<!DOCTYPE html>") && EndsWith("</html>\n"));
  CHECK_THAT(html, Contains("<section id=\"answer\"") && Contains("<section id=\"runs\""));
}

}  // namespace

TEST_CASE("a run, and charts of it, make pages", "[run]") {
  const RunCommand run;
  REQUIRE(
      run({"-w", "linear", "--threads", "1", "--steps", "20", "-o", "one.json", "-o", "one.html"})
          .exit_code == 0);
  check_page(run.text("one.html"));
  CHECK_THAT(run.text("one.html"), Contains("<title>ptbench: linear</title>"));
  const ProgramResult chart = ptbench(run, {"chart", "one.json", "-o", "again.html"});
  CAPTURE(chart.errors);
  REQUIRE(chart.exit_code == 0);
  CHECK(run.text("again.html") == run.text("one.html"));
  CHECK(run.partial_files() == 0);
}

TEST_CASE("a sweep makes a page at its end", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      ptbench(run, {"sweep", "-w", "linear", "-b", "16,32", "--threads", "1", "--steps", "20",
                    "--rounds", "1", "-o", "grid.json", "-o", "grid.html"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  check_page(run.text("grid.html"));
  CHECK_THAT(run.text("grid.html"), Contains("2 runs, all of"));
}

TEST_CASE("a comparison makes a page with its verdicts", "[run]") {
  const RunCommand run;
  for (const char* name : {"base.json", "new.json"})
    REQUIRE(run({"-w", "linear", "--threads", "1", "--steps", "20", "-o", name}).exit_code == 0);
  const ProgramResult result =
      ptbench(run, {"compare", "base.json", "new.json", "-o", "comparison.html"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  check_page(run.text("comparison.html"));
  CHECK_THAT(run.text("comparison.html"), Contains("<section id=\"verdicts\""));
}

TEST_CASE("without gnuplot and Chart.js a page has tables and says what it lacks", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--threads", "1", "--steps", "20", "-o", "one.json"}).exit_code ==
          0);
  const ProgramResult result =
      ptbench(run, {"chart", "one.json", "-o", "one.html"}, {"PATH=/nonexistent", kNoLibrary});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const std::string html = run.text("one.html");
  check_page(html);
  CHECK_THAT(html, Contains("PTBENCH_CHART_JS is empty") && Contains("install gnuplot-nox"));
  CHECK_THAT(html, Contains("There is no drawing of this chart") && Contains("as a table"));
  CHECK_THAT(html, !Contains("<img"));
}

TEST_CASE("what is no copy of Chart.js is refused before anything is measured", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--threads", "1", "--steps", "20", "-o", "one.json"}).exit_code ==
          0);
  run.write("two.json", run.text("one.json"));
  REQUIRE(mkfifo(run.path("pipe.js").c_str(), 0600) == 0);
  run.write("other.js", "alert(1)");
  run.write("large.js", "Chart");
  std::filesystem::resize_file(run.path("large.js"), 1ULL << 30);
  for (const char* file :
       {".", "/dev/zero", "/dev/null", "absent.js", "pipe.js", "other.js", "large.js"}) {
    CAPTURE(file);
    const std::string variable = std::string("PTBENCH_CHART_JS=") + file;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"run", "-w", "linear", "--steps", "1000000000", "-o", "p.html"},
          {"sweep", "-w", "linear", "--steps", "1000000000", "-o", "p.html"},
          {"gate", "--base", PTBENCH_EXECUTABLE, "--new", PTBENCH_EXECUTABLE, "-w", "linear", "-o",
           "p.html"},
          {"compare", "one.json", "two.json", "-o", "p.html"},
          {"chart", "one.json", "-o", "p.html"}}) {
      const ProgramResult result = ptbench(run, command, {variable});
      CHECK(result.exit_code == 1);
      CHECK_THAT(result.errors, Contains(variable + ": the file ") &&
                                    Contains("ptbench: remedy: name a copy of Chart.js 3"));
      CHECK(!std::filesystem::exists(run.path("p.html")));
    }
  }
}

TEST_CASE("a result in which every run failed makes a page", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--threads", "1", "--steps", "20", "-o", "one.json"}).exit_code ==
          0);
  auto record = nlohmann::ordered_json::parse(run.text("one.json"));
  nlohmann::ordered_json& failed = record["runs"][0];
  failed = {{"id", failed["id"]},
            {"status", "failed"},
            {"reason", "it <b>broke</b>"},
            {"workload", {{"name", "linear"}}},
            {"strategy", {{"name", "serial"}}}};
  run.write("failed.json", record.dump());
  const ProgramResult result = ptbench(run, {"chart", "failed.json", "-o", "failed.html"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const std::string html = run.text("failed.html");
  check_page(html);
  CHECK_THAT(html, Contains("Nothing was measured: 1 run failed.") && !Contains("<b>broke"));
}

TEST_CASE("a page that cannot be written is refused before anything is measured", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "linear", "--steps", "20", "-o", "/nonexistent/page.html"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("/nonexistent/page.html"));
}

}  // namespace ptbench::testing

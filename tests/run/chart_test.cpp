// `ptbench chart` from outside: what it draws of real results, and what it refuses.
#include <catch2/catch.hpp>
#include <filesystem>

#include "charts/chart_catalog.h"
#include "reports/read_result.h"
#include "tests/run/command.h"
#include "tests/support/svg.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

ProgramResult ptbench(const RunCommand& place, std::vector<std::string> arguments,
                      const std::string& variable = "A=B") {
  arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
  return run_program(arguments,
                     {.folder = place.path(""),
                      .environment = {"XDG_CACHE_HOME=" + place.path("cache").string(), variable},
                      .deadline = std::chrono::seconds(100)});
}

ProgramResult chart(const RunCommand& place, std::vector<std::string> arguments,
                    const std::string& variable = "A=B") {
  arguments.insert(arguments.begin(), "chart");
  return ptbench(place, std::move(arguments), variable);
}

/// Writes s.json: ddp on two ranks, with its baselines.
void make_sweep(const RunCommand& place) {
  const ProgramResult result =
      ptbench(place, {"sweep", "-w", "linear", "-s", "ddp", "-n", "2", "--scaling", "weak",
                      "--threads", "1", "--rounds", "1", "--steps", "60", "-o", "s.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
}

/// The figure of a series at so many ranks.
double figure(const Chart& chart, const std::string& series, double ranks) {
  for (const Series& each : chart.series)
    for (const Point& point : each.points)
      if (each.name == series && point.x == ranks) return point.y;
  FAIL("no " << series << " at " << ranks << " in " << chart.title);
  return 0;
}

/// Charts of the real sweep s.json have its figures.
void check_figures(const RunCommand& place) {
  const std::vector<ResultFile> files{read_result_file(place.path("s.json"))};
  const std::vector<std::string> names{"speedup", "efficiency"};
  const std::vector<Chart> charts = make_charts({.results = files}, names);
  REQUIRE(charts.size() == 2);
  int compared = 0;
  const nlohmann::json file = place.json("s.json");
  for (const nlohmann::json& run : file["runs"]) {
    if (run["strategy"]["name"] != "ddp") continue;
    const nlohmann::json& scaling = run["scaling"];
    CHECK(figure(charts[0], "ddp", 2) == Approx(scaling["speedup"].get<double>()));
    CHECK(figure(charts[1], "ddp", 2) == Approx(100 * scaling["efficiency"].get<double>()));
    ++compared;
  }
  CHECK(compared == 1);
}

/// A result without a run that was measured.
void make_failed(const RunCommand& place) {
  place.write("failed.json",
              R"({"schema": "ptbench.result/2", "runs": [{"id": "mlp/ddp/n4/b64/fp32", )"
              R"("status": "failed", "reason": "it fell"}]})");
}

TEST_CASE("a sweep is drawn chart by chart", "[run]") {
  const RunCommand place;
  make_sweep(place);
  check_figures(place);
  const ProgramResult result = chart(place, {"s.json", "-o", "s.svg"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(result.output.empty());
  for (const char* name : {"speedup", "efficiency", "phases"}) {
    INFO(name);
    const std::string file = std::string("s-") + name + ".svg";
    CHECK_THAT(result.errors, Contains(file + ": "));
    const std::string texts = texts_of_svg(place.text(file));
    CHECK_THAT(texts, Contains("linear") && Contains("ddp"));
  }
  CHECK_THAT(texts_of_svg(place.text("s-speedup.svg")), Contains("weak scaling") &&
                                                            Contains("serial") &&
                                                            Contains("ideal") && Contains("ranks"));
  CHECK_FALSE(fs::exists(place.path("s.svg")));
  CHECK(place.partial_files() == 0);

  const std::string first = place.text("s-speedup.svg");
  REQUIRE(chart(place, {"s.json", "--chart", "speedup", "-o", "again.svg", "-o", "dark.pdf",
                        "--theme", "dark"})
              .exit_code == 0);
  CHECK(place.text("dark.pdf").starts_with("%PDF-"));
  REQUIRE(chart(place, {"s.json", "--chart", "speedup", "-o", "again.svg"}).exit_code == 0);
  CHECK(place.text("again.svg") == first);

  const ProgramResult steps =
      chart(place, {"s.json", "-o", "steps.png", "--chart", "steps", "--runs", "ddp/n2"});
  CAPTURE(steps.errors);
  REQUIRE(steps.exit_code == 0);
  CHECK(place.text("steps.png").starts_with("\x89PNG"));

  const ProgramResult unwritable = chart(place, {"s.json", "-o", "no/folder.svg"});
  CHECK(unwritable.exit_code == 1);
  CHECK_THAT(unwritable.errors, Contains("no/folder-speedup.svg"));
}

TEST_CASE("the output of comm is drawn, and a history", "[run]") {
  const RunCommand place;
  place.write("comm.json",
              ptbench(place, {"comm", "-n", "2", "--sizes", "4K,64K,1M", "--json"}).output);
  const ProgramResult comm = chart(place, {"comm.json", "-o", "comm.svg"});
  CAPTURE(comm.errors);
  REQUIRE(comm.exit_code == 0);
  CHECK_THAT(texts_of_svg(place.text("comm.svg")),
             Contains("all_reduce") && Contains("shm, 2 ranks") && Contains("latency floor") &&
                 Contains("64 KiB"));

  const std::string entry =
      R"({"schema":"ptbench.result/2","created":"2025-06-0%T00:00:00Z","runs":[{"id":"mlp/serial/)"
      R"(n1/b8/fp32","status":"ok","workload":{"name":"mlp"},"strategy":{"name":"serial"},)"
      R"("step_seconds":{"median":0.00%}}]})";
  std::string lines;
  for (const char* day : {"1", "2", "3"}) {
    std::string line = entry;
    for (std::size_t at = line.find('%'); at != std::string::npos; at = line.find('%'))
      line.replace(at, 1, day);
    lines += line + "\n";
  }
  place.write("h.jsonl", lines);
  const ProgramResult history = chart(place, {"h.jsonl", "-o", "h.svg"});
  CAPTURE(history.errors);
  REQUIRE(history.exit_code == 0);
  CHECK_THAT(texts_of_svg(place.text("h.svg")), Contains("2025-06-03") && Contains("serial"));
}

TEST_CASE("records with nothing to draw are one clear error that says what charts need", "[run]") {
  const RunCommand place;
  make_failed(place);
  const ProgramResult result = chart(place, {"failed.json", "-o", "s.svg"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("nothing to draw in 'failed.json'") && Contains("1 failed") &&
                                Contains("speedup and efficiency need") && Contains("--scaling"));
  CHECK_FALSE(fs::exists(place.path("s.svg")));
}

TEST_CASE("without gnuplot there is one clear error with the remedy, and nothing is read",
          "[run]") {
  const RunCommand place;
  for (const char* file : {"s.svg", "s.png", "s.pdf"}) {
    const ProgramResult result = chart(place, {"gone.json", "-o", file}, "PATH=/nowhere");
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors, Contains("gnuplot") && Contains("apt-get install gnuplot-nox"));
  }
}

TEST_CASE("mistakes on the command line of chart", "[run]") {
  struct Mistake {
    std::vector<std::string> arguments;
    std::string says;
  };
  const RunCommand place;
  make_failed(place);
  place.write("list.json", "[{\"collective\": 3}]");
  for (const Mistake& mistake : std::vector<Mistake>{
           {{"-o", "s.svg"}, "RESULT is missing"},
           {{"failed.json"}, "--output is missing"},
           {{"failed.json", "-o", "s.svgz"}, "did you mean '.svg'?"},
           {{"failed.json", "-o", "s"}, ".svg, .png"},
           {{"failed.json", "-o", "s.svg", "-o", "./s.svg"}, "s.svg"},
           {{"failed.json", "-o", "s.svg", "--chart", "speedups"}, "did you mean 'speedup'?"},
           {{"failed.json", "-o", "s.svg", "--chart", "loss,"}, "--chart"},
           {{"failed.json", "-o", "s.svg", "--theme", "blue"}, "--theme"},
           {{"gone.json", "-o", "s.svg"}, "gone.json"},
           {{"gone.jsonl", "-o", "s.svg"}, "gone.jsonl"},
           {{"failed.json", "failed.json", "-o", "s.svg"}, "is given twice"},
           {{"list.json", "-o", "s.svg"}, "\"collective\""},
       }) {
    const ProgramResult result = chart(place, mistake.arguments);
    CAPTURE(mistake.says, result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(mistake.says) && Contains("ptbench: error: ") &&
                                  Contains("ptbench: remedy: "));
  }
}

TEST_CASE("charts are listed", "[run]") {
  const RunCommand place;
  const ProgramResult list = ptbench(place, {"list", "charts", "--json"});
  CHECK(nlohmann::json::parse(list.output).at(0).at("name") == "speedup");
}

}  // namespace
}  // namespace ptbench::testing

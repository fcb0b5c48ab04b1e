#include "reports/markdown.h"

#include <catch2/catch.hpp>

#include "reports/markdown_text.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

using Catch::Contains;

RunRecord with_throughput(const std::string& strategy, double throughput) {
  RunRecord run;
  run.id = "mlp/" + strategy + "/n1/b64/fp32";
  run.workload.name = "mlp";
  run.strategy.name = strategy;
  run.strategy.batch_per_replica = 64;
  run.throughput.value = throughput;
  run.throughput.ci95 = Interval{0.99 * throughput, 1.01 * throughput};
  run.step_seconds.median = 64 / throughput;
  run.samples.repetitions.assign(5,
                                 {.median_seconds = 0.01, .placement = "near", .clean_slices = 2});
  return run;
}

ResultFile example_sweep() {
  ResultFile file = testing::example_file();
  file.command = {"ptbench", "sweep", "--launcher", "mpirun -n {n}", "-o", "it's.md"};
  file.runs = {with_throughput("serial", 10'000), with_throughput("amp", 12'000),
               testing::bare_run(Status::failed, "rank 1 <died>")};
  file.runs[0].warnings = {
      {"foreign-load", "other programs took 12 % of the core in 3 of 4 slices", "End what runs."},
      {"too-noisy", "the repetitions scatter by 5 %", "Measure again."}};
  return file;
}

}  // namespace

TEST_CASE("a result file as Markdown", "[reports]") {
  CHECK(to_markdown(example_sweep()) == testing::golden("example.md"));
}

TEST_CASE("Markdown does not depend on the locale", "[reports]") {
  const testing::CommaLocale locale;
  CHECK(to_markdown(example_sweep()) == testing::golden("example.md"));
}

TEST_CASE("names from outside mean nothing in Markdown", "[reports]") {
  constexpr const char* kHostile = "<img src=x>|`*_[a](b)\n\x1b[2J@someone\xE9";
  ResultFile file = example_sweep();
  file.environment.host.name = kHostile;
  file.environment.cpu.model = kHostile;
  file.command = {"ptbench", kHostile};
  file.runs = {with_throughput("serial", 10'000), with_throughput("serial", 20'000)};
  for (RunRecord& run : file.runs) run.workload.name = kHostile;
  file.runs[1].strategy.name = kHostile;
  file.runs[1].id = kHostile;
  file.runs[1].warnings = {{kHostile, kHostile, kHostile}};
  file.runs.push_back(testing::bare_run(Status::failed, kHostile));
  std::string text = to_markdown(file);
  text.erase(text.find("**Command**"));  // literal code
  CHECK_THAT(text, !Contains("<img") && !Contains("@someone") && !Contains("\x1b") &&
                       !Contains("`") && !Contains("\xE9"));
}

TEST_CASE("a file without runs is a report too", "[reports]") {
  CHECK_THAT(to_markdown(ResultFile{}), Contains("Nothing was measured."));
}

TEST_CASE("names in a sentence are code in Markdown", "[reports]") {
  CHECK(markdown_sentence("`a_b` is *fast*") == "<code>a&#95;b</code> is &#42;fast&#42;");
  CHECK(markdown_sentence("plain") == "plain");
  CHECK(markdown_sentence("").empty());
}

}  // namespace ptbench

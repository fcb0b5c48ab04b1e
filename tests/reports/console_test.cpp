#include "reports/console.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "reports/wrap.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a result file for people", "[reports]") {
  CHECK(to_console(testing::example_file()) == testing::golden("example.txt"));
}

TEST_CASE("the summary does not depend on the locale", "[reports]") {
  const testing::CommaLocale locale;
  CHECK(to_console(testing::example_file()) == testing::golden("example.txt"));
}

TEST_CASE("the summary of everything that can be known", "[reports]") {
  CHECK(to_console(testing::file_of(testing::full_run())) == testing::golden("full.txt"));
}

TEST_CASE("a summary fits on a screen", "[reports]") {
  const auto lines = testing::lines_of(to_console(testing::example_file()));
  CHECK(lines.size() <= 14);
  RunRecord run = testing::full_run();
  run.id += std::string(300, 'x');
  run.warnings[0].message = std::string(500, 'y') + " and " + run.id;
  for (const std::size_t columns : {100U, 60U}) {
    for (const std::string& line :
         testing::lines_of(to_console(testing::file_of(run), {.columns = columns}))) {
      INFO(line);
      CHECK(code_points(line) <= columns);
    }
  }
}

TEST_CASE("a run that failed says why and shows no throughput", "[reports]") {
  RunRecord run = testing::full_run();
  for (const Status status : {Status::failed, Status::skipped}) {
    run.status = status;
    run.reason = "rank 1 died";
    const std::string text = to_console(testing::file_of(run));
    CHECK(contains(text, std::string(name_of(status))));
    CHECK(contains(text, "rank 1 died"));
    CHECK_FALSE(contains(text, "samples/s"));
    CHECK_FALSE(contains(text, "median"));
    CHECK(contains(text, "give --steps 100 or more"));
  }
}

TEST_CASE("a run that was interrupted says so and shows what it has", "[reports]") {
  RunRecord run = testing::full_run();
  run.status = Status::interrupted;
  run.reason = "stopped by a signal";
  const std::string text = to_console(testing::file_of(run));
  CHECK(contains(text, "stopped by a signal"));
  CHECK(contains(text, "30.5 k samples/s"));
}

TEST_CASE("equal devices are counted", "[reports]") {
  RunRecord run = testing::full_run();
  const auto shown = [&](std::vector<std::string> devices) {
    run.strategy.devices = std::move(devices);
    return to_console(testing::file_of(run));
  };
  CHECK(contains(shown(std::vector<std::string>(100, "cpu")), "device cpu x 100, world size"));
  CHECK(contains(shown({"cpu"}), "device cpu, world size"));
  CHECK(contains(shown({"cuda:0", "cuda:1"}), "device cuda:0+cuda:1, world size"));
  CHECK(contains(shown({"cpu", "cpu", "cuda:0"}), "device cpu x 2+cuda:0, world size"));
}

TEST_CASE("what is not known takes no room", "[reports]") {
  const std::string text = to_console(testing::file_of(testing::bare_run(Status::ok, "")));
  CHECK(text ==
        "ptbench 0.1.0 (Release build) on vm-17, Some Maker CPU, 2 cores, Debian GNU/Linux 12 "
        "(bookworm)\n"
        "mlp/ddp/n4/b64/fp32\n"
        "  workload    mlp\n"
        "  strategy    ddp, world size 4, fp32\n");
}

TEST_CASE("what computing hides of communication is shown where it hides some", "[reports]") {
  RunRecord run = testing::full_run();
  CHECK(contains(to_console(testing::file_of(run)),
                 "\n  overlap     200 µs of communication; the step waits for 100 µs of it\n"));
  run.phases_seconds.communication = run.phases_seconds.communication_exposed;
  CHECK_FALSE(contains(to_console(testing::file_of(run)), "overlap"));
}

TEST_CASE("one line tells whether the throughput can be relied on", "[reports]") {
  RunRecord run = testing::full_run();
  run.samples.repetitions.assign(5,
                                 {.median_seconds = 0.01, .placement = "near", .clean_slices = 2});
  run.throughput.ci95 = Interval{0.991 * *run.throughput.value, 1.009 * *run.throughput.value};
  CHECK(contains(to_console(testing::file_of(run)), "\n  evidence    reliable to ± 0.9 %\n"));
  for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
  CHECK(contains(to_console(testing::file_of(run)),
                 "\n  evidence    not reliable: 0 of 5 repetitions clean\n"));
  run.status = Status::failed;
  CHECK_FALSE(contains(to_console(testing::file_of(run)), "evidence"));
}

TEST_CASE("warnings of one cause are one line of a summary", "[reports]") {
  RunRecord run = testing::full_run();
  run.warnings = {{"too-noisy", "the repetitions scatter", "Measure again."},
                  {"steal", "the hypervisor took 3 %", "Run again later."},
                  {"odd", "it was odd", ""}};
  const std::string text = to_console(testing::file_of(run));
  CHECK(contains(text,
                 "\n  warning     the hypervisor took 3 %; also, repetitions scatter; "
                 "remedy: Run again later.\n  warning     it was odd\n"));
}

TEST_CASE("colour is there only where it is asked for", "[reports]") {
  RunRecord run = testing::full_run();
  run.status = Status::failed;
  ResultFile file = testing::example_file();
  file.runs.push_back(run);
  CHECK_FALSE(contains(to_console(file), "\x1b"));
  const std::string coloured = to_console(file, {.colour = true});
  CHECK(contains(coloured, "\x1b[31mfailed"));
  CHECK(contains(coloured, "\x1b[33mwarning"));
  CHECK(contains(coloured, "\x1b[1mthroughput"));
  CHECK_FALSE(contains(coloured, "\x1b[31mred"));  // from the name of the data
}

}  // namespace ptbench

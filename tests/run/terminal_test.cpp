// What ptbench shows on a terminal: progress from the first moment on, and texts as wide as it is.
#include "tests/support/terminal.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "reports/wrap.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// `ptbench` on a terminal, in a folder of its own, with nothing in its plan cache.
class TerminalCommand {
 public:
  [[nodiscard]] TerminalResult operator()(std::vector<std::string> arguments,
                                          unsigned short columns) const {
    arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
    return run_on_terminal(arguments, columns,
                           {.folder = folder_.path(),
                            .environment = {"XDG_CACHE_HOME=" + (folder_.path() / "cache").string(),
                                            "TMPDIR=" + folder_.path().string()}});
  }

 private:
  TemporaryDirectory folder_;
};

std::size_t widest(const std::string& shown) {
  std::size_t most = 0;
  for (const std::string& line : lines_left(shown)) most = std::max(most, code_points(line));
  return most;
}

}  // namespace

TEST_CASE("a run on a terminal tells how far choosing operators has come", "[run]") {
  const TerminalCommand ptbench;
  const std::vector<std::string> arguments{"run", "-w",      "linear", "--threads",
                                           "1",   "--steps", "20"};
  const TerminalResult first = ptbench(arguments, 100);
  CAPTURE(first.shown);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.shown, Contains("\rloading data"));
  CHECK_THAT(first.shown, Contains("\rchoosing operators 0/"));
  CHECK_THAT(first.shown, Contains("throughput"));
  const TerminalResult again = ptbench(arguments, 100);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.shown, !Contains("choosing operators 0/"));
}

TEST_CASE("what the processes of a run tell reaches the terminal", "[run]") {
  const TerminalCommand ptbench;
  const TerminalResult result =
      ptbench({"run", "-w", "linear", "--threads", "1", "--repeats", "2", "--max-time", "1"}, 100);
  CAPTURE(result.shown);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.shown, Contains("\rpreparing: choosing operators 0/"));
  CHECK_THAT(result.shown, Contains(", repetition 1 of 2: "));
  for (const std::string& line : lines_left(result.shown)) CHECK_THAT(line, !Contains("\r"));
}

TEST_CASE("a first figure is marked until the run is verified", "[run]") {
  const TerminalCommand ptbench;
  const TerminalResult result = ptbench({"run", "-w", "linear", "-s", "ddp", "-n", "2", "--threads",
                                         "1", "--repeats", "2", "--max-time", "1"},
                                        100);
  CAPTURE(result.shown);
  REQUIRE(result.exit_code == 0);
  const std::size_t figure = result.shown.find(" samples/s, unverified");
  const std::size_t verified = result.shown.find("verifying");
  REQUIRE(figure != std::string::npos);
  CHECK(figure < verified);
  CHECK_THAT(result.shown, Contains("verifying 1/5"));
  const std::size_t measured = result.shown.find("repetition 1 of 2");
  REQUIRE(measured != std::string::npos);
  CHECK(result.shown.find("unverified", measured) == std::string::npos);
  CHECK_THAT(result.shown.substr(measured), Contains("verified    passed"));
}

TEST_CASE("the summary is as wide as the terminal", "[run]") {
  const TerminalCommand ptbench;
  const TerminalResult narrow =
      ptbench({"run", "-w", "linear", "--threads", "1", "--steps", "20"}, 60);
  REQUIRE(narrow.exit_code == 0);
  CHECK(widest(narrow.shown) <= 60);
  CHECK(widest(narrow.shown) > 50);
}

TEST_CASE("tables and help are as wide as the terminal", "[run]") {
  const TerminalCommand ptbench;
  const auto width = [&](const std::vector<std::string>& arguments, unsigned short columns) {
    const TerminalResult result = ptbench(arguments, columns);
    REQUIRE(result.exit_code == 0);
    return widest(result.shown);
  };
  CHECK(width({"list", "options"}, 140) <= 140);
  CHECK(width({"list", "options"}, 140) > 120);
  CHECK(width({"list", "strategies"}, 80) <= 80);
  // Examples stay as they are.
  CHECK(width({"run", "--help"}, 80) < width({"run", "--help"}, 140));
  CHECK(width({"run", "--help"}, 140) <= 100);
}

}  // namespace ptbench::testing

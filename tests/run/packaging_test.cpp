// What the container recipe runs is what people are told to run.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// What follows `word` at the start of lines; lines that end in '\' go on.
std::vector<std::string> instructions(const std::string& word) {
  std::istringstream lines(source_text("Containerfile"));
  std::vector<std::string> found;
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.starts_with(word + " ");
    if (begins) found.push_back(line.substr(word.size() + 1));
    if (!begins && goes_on) found.back() += line;
    goes_on = (begins || goes_on) && line.ends_with('\\');
  }
  return found;
}

}  // namespace

TEST_CASE("the container is built by the commands of the README", "[run]") {
  const std::string readme = source_text("README.md");
  int shared = 0;
  for (const std::string& command : instructions("RUN")) {
    INFO(command);
    if (command.find("apt-get update") != std::string::npos) continue;  // of the recipe's own
    CHECK_THAT(readme, Contains("\n" + command + "\n"));
    ++shared;
  }
  CHECK(shared == 2);
  CHECK_THAT(readme, Contains("podman build -t ptbench .") && Contains("ptbench_*.deb"));
}

TEST_CASE("the container has the system that packages are made for", "[run]") {
  const std::vector<std::string> bases = instructions("FROM");
  REQUIRE(bases.size() == 2);
  CHECK(bases[0] == "debian:13 AS build");
  CHECK(bases[1] == "debian:13");
  CHECK(source_text(".dockerignore") == "build\n");  // built elsewhere, perhaps for another system
}

}  // namespace ptbench::testing

// `ptbench export` as a user calls it: formats, files, refusals.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Json = nlohmann::ordered_json;  // "schema" stands first

/// In a folder with a copy of tests/exports/golden/sweep.json.
class ExportCommand {
 public:
  ExportCommand() {
    fs::copy_file(PTBENCH_SOURCE_DIR "/tests/exports/golden/sweep.json", path("sweep.json"));
  }

  [[nodiscard]] ProgramResult operator()(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {PTBENCH_EXECUTABLE, "export"});
    return run_program(arguments, {.folder = folder_.path()});
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const Json& document) const {
    (void)folder_.write(name, document.dump());
  }

 private:
  TemporaryDirectory folder_;
};

Json file_with(const std::vector<Json>& runs) {
  return {{"schema", "ptbench.result/2"}, {"runs", runs}};
}

}  // namespace

TEST_CASE("a result is exported to standard output, and to a file", "[run]") {
  const ExportCommand command;
  const ProgramResult printed = command({"sweep.json", "--format", "gbench"});
  CHECK(printed.exit_code == 0);
  CHECK(printed.errors.empty());
  CHECK(Json::parse(printed.output).at("context").at("host_name") == "vm-17");

  const ProgramResult written = command({"sweep.json", "-f", "gbench", "-o", "new.json"});
  CHECK(written.exit_code == 0);
  CHECK(written.output.empty());
  CHECK(command.text("new.json") == printed.output);
}

TEST_CASE("what a format leaves out is a warning", "[run]") {
  const ExportCommand command;
  const ProgramResult result = command({"sweep.json", "-f", "gha-bigger"});
  CHECK(result.exit_code == 0);
  CHECK(Json::parse(result.output).size() == 4);
  CHECK_THAT(result.errors, Contains("3 runs without figures were left out of gha-bigger") &&
                                Contains("mlp/ddp/n4/b16/fp32"));
}

TEST_CASE("a format that is not there, or not given, is refused", "[run]") {
  const ExportCommand command;
  const ProgramResult unknown = command({"sweep.json", "--format", "hyperfin"});
  CHECK(unknown.exit_code == 1);
  CHECK_THAT(unknown.errors, Contains("hyperfin") && Contains("did you mean 'hyperfine'?"));
  const ProgramResult missing = command({"sweep.json"});
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.errors, Contains("--format"));
}

TEST_CASE("nothing that is read is overwritten, and a refusal leaves no file", "[run]") {
  const ExportCommand command;
  const std::string before = command.text("sweep.json");
  const ProgramResult same = command({"sweep.json", "-f", "bmf", "-o", "./sweep.json"});
  CHECK(same.exit_code == 1);
  CHECK_THAT(same.errors, Contains("is a file that is read"));
  CHECK(command.text("sweep.json") == before);

  command.write("empty.json", file_with({}));
  const ProgramResult empty = command({"empty.json", "-f", "bmf", "-o", "new.json"});
  CHECK(empty.exit_code == 1);
  CHECK_THAT(empty.errors, Contains("empty.json") && Contains("no run to export"));
  CHECK_FALSE(fs::exists(command.path("new.json")));
}

TEST_CASE("failed rows alone are one clear error where figures are wanted", "[run]") {
  const ExportCommand command;
  command.write("failed.json",
                file_with({{{"id", "a"}, {"status", "failed"}, {"reason", "rank 1 died"}}}));
  const ProgramResult result = command({"failed.json", "-f", "gha-smaller"});
  CHECK(result.exit_code == 1);
  CHECK(result.output.empty());
  CHECK_THAT(result.errors, Contains("no run has figures") && Contains("rank 1 died") &&
                                Contains("github-action-benchmark"));
  CHECK(command({"failed.json", "-f", "junit"}).exit_code == 0);
}

TEST_CASE("a folder is all results in it, and a result counts once", "[run]") {
  const ExportCommand command;
  fs::create_directory(command.path("results"));
  command.write(
      "results/a.json",
      file_with({{{"id", "a"}, {"status", "ok"}, {"step_seconds", {{"median", 0.005}}}}}));
  command.write(
      "results/b.json",
      file_with({{{"id", "b"}, {"status", "ok"}, {"step_seconds", {{"median", 0.004}}}}}));
  const ProgramResult folder = command({"results", "-f", "hyperfine"});
  CHECK(folder.exit_code == 0);
  CHECK(Json::parse(folder.output).at("results").size() == 2);
  const ProgramResult twice = command({"results", "results/a.json", "-f", "hyperfine"});
  CHECK(twice.exit_code == 1);
  CHECK_THAT(twice.errors, Contains("given twice"));
}

TEST_CASE("the formats are listed", "[run]") {
  const ProgramResult listed = run_program({PTBENCH_EXECUTABLE, "list", "exports", "--json"});
  CHECK(listed.exit_code == 0);
  CHECK(Json::parse(listed.output).size() == 9);
}

}  // namespace ptbench::testing

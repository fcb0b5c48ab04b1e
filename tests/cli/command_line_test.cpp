// The built program as a user meets it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/config/run_options.h"
#include "tests/support/program.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using testing::mentions;
using testing::ProgramResult;

ProgramResult ptbench(std::vector<std::string> arguments,
                      const testing::ProgramSettings& settings = {}) {
  arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
  return testing::run_program(arguments, settings);
}

/// A line of /bin/sh in which $P is the program.
ProgramResult shell(const std::string& line) {
  return testing::run_program({"/bin/sh", "-c", line},
                              {.environment = {std::string("P=") + PTBENCH_EXECUTABLE}});
}

/// A prefix with a copy of the program and the modules of a fixture.
void install(const fs::path& prefix, const std::string& fixture) {
  fs::create_directories(prefix / "bin");
  fs::create_directories(prefix / "lib");
  fs::copy_file(PTBENCH_EXECUTABLE, prefix / "bin/ptbench");
  fs::create_directory_symlink(fs::path(PTBENCH_TEST_MODULES) / fixture, prefix / "lib/ptbench");
}

}  // namespace

TEST_CASE("the version is one line, at once") {
  double best = 1;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = ptbench({"--version"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
    CHECK(result.exit_code == 0);
    CHECK(result.output.starts_with("ptbench 0."));
    CHECK(mentions(result.output, "(commit "));
    CHECK(std::ranges::count(result.output, '\n') == 1);
    CHECK(result.errors.empty());
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(best < 0.02);
#endif
}

TEST_CASE("help goes to standard output, and to standard error where a command is missing") {
  const ProgramResult help = ptbench({"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.errors.empty());
  CHECK(mentions(help.output, "Usage: ptbench COMMAND"));
  const ProgramResult nothing = ptbench({});
  CHECK(nothing.exit_code == 1);
  CHECK(nothing.output.empty());
  CHECK(nothing.errors == help.output);
  CHECK(ptbench({"help", "run"}).output == ptbench({"run", "--help"}).output);
}

TEST_CASE("wrong usage is one error with a remedy, and exit code 1") {
  struct Case {
    std::vector<std::string> arguments;
    const char* error;
    const char* remedy;
  };
  const std::vector<Case> cases{
      {{"lsit"}, "unknown command 'lsit'", "did you mean 'list'?"},
      {{"--verison"}, "'--verison'", "did you mean '--version'?"},
      {{"run", "--lr", "nan"}, "--lr is 'nan'", "--lr 0.01"},
      {{"run", "-b", "0"}, "--batch-size is '0'", "--batch-size 128"},
      {{"run", "-o", "results.xls"}, "results.xls", ".json"},
      {{"run", "-w", "resnet8"}, "--workload is 'resnet8'", ""},
      {{"list", "workload"}, "CATALOG is 'workload'", "did you mean 'workloads'?"},
      {{"list", "--json", "--markdown"}, "cannot be combined", "one of them"},
      {{"completions"}, "SHELL is missing", "for instance bash"},
      {{"validate"}, "FILE is missing", "results.json"},
      {{"help", "nothing"}, "COMMAND is 'nothing'", ""},
      {{"\xFF\xFE"}, "unknown command", "--help"},
      {{"run", "--\xFF"}, "unknown option", "--help"},
      {{"run", "--data", "/nowhere/\xFF"}, "/nowhere/", ""}};
  for (const Case& expected : cases) {
    INFO(expected.error);
    const ProgramResult result = ptbench(expected.arguments);
    CHECK(result.exit_code == 1);
    CHECK(result.output.empty());
    CHECK(result.errors.starts_with("ptbench: error: "));
    CHECK(mentions(result.errors, expected.error));
    CHECK(mentions(result.errors, std::string("ptbench: remedy: ")));
    CHECK(mentions(result.errors, expected.remedy));
  }
}

TEST_CASE("standard output that cannot be written is an error, whatever the command") {
  for (const char* command :
       {"--version", "--help", "run --help", "list", "list --json", "completions zsh"}) {
    INFO(command);
    for (const char* place : {"> /dev/full", ">&-"}) {
      const ProgramResult result = shell(std::string("$P ") + command + " " + place);
      CHECK(result.exit_code == 1);
      CHECK(mentions(result.errors, "ptbench: error: "));
      CHECK(mentions(result.errors, "standard output"));
    }
  }
}

TEST_CASE("closed standard streams take no file's place") {
  const testing::TemporaryDirectory directory;
  const std::string file = (directory.path() / "r.json").string();
  const ProgramResult result = shell("$P run -w linear --steps 3 -o " + file + " >&- 2>&- <&-");
  CHECK(result.exit_code == 1);  // the summary had nowhere to go
  if (fs::exists(file)) CHECK(ptbench({"validate", file}).exit_code == 0);
}

TEST_CASE("lists are text, Markdown and JSON") {
  const auto workloads = nlohmann::json::parse(ptbench({"list", "workloads", "--json"}).output);
  REQUIRE(workloads.size() >= 2);
  CHECK(workloads[0]["name"] == "linear");
  CHECK(workloads[1]["batch"] == 128);
  const auto all = nlohmann::json::parse(ptbench({"list", "--json"}).output);
  for (const char* catalog : {"workloads", "strategies", "devices", "optimizers", "options"})
    CHECK(all[catalog].is_array());
  CHECK(all["devices"][0]["id"] == "cpu");
  const std::vector<OptionInfo> options = run_option_table().infos();
  CHECK(std::ssize(all["options"]) ==
        std::ranges::count_if(options, [](const OptionInfo& option) { return !option.hidden; }));
  CHECK(mentions(ptbench({"list", "strategies"}).output, "serial"));
  CHECK(mentions(ptbench({"list", "options", "--markdown"}).output, "| --batch-size | -b | B |"));
}

TEST_CASE("list alone shows the catalogs, one line each") {
  const std::string text = ptbench({"list"}).output;
  CHECK(mentions(text, "\nworkloads "));
  CHECK(mentions(text, "linear, mlp, resnet18, resnet50"));
  CHECK(mentions(text, "\noptions "));
  CHECK_FALSE(mentions(text, "--batch-size"));
  CHECK(std::ranges::count(text, '\n') <= 12);
}

TEST_CASE("doctor watches for so many seconds only where it watches") {
  const ProgramResult result = ptbench({"doctor", "--seconds", "5"});
  CHECK(result.exit_code == 1);
  CHECK(result.output.empty());
  CHECK(mentions(result.errors, "--seconds needs --noise"));
  CHECK(mentions(result.errors, "add --noise"));
}

TEST_CASE("doctor ends well whatever is missing, and CUDA that is missing disturbs nobody") {
  for (const char* fixture : {"missing_library", "other_version", "driver_absent", "no_device"}) {
    INFO(fixture);
    const testing::TemporaryDirectory prefix;
    install(prefix.path(), fixture);
    const std::string program = (prefix.path() / "bin/ptbench").string();

    const ProgramResult doctor = testing::run_program({program, "doctor", "--json"});
    CHECK(doctor.exit_code == 0);
    const auto engines = nlohmann::json::parse(doctor.output)["engines"];
    CHECK(engines[0]["state"] == "ready");
    CHECK(engines[1]["state"] != "ready");
    CHECK(engines[1]["remedy"].is_string());

    const ProgramResult cuda = testing::run_program({program, "run", "--device", "cuda"});
    CHECK(cuda.exit_code == 5);
    CHECK(cuda.output.empty());
    CHECK(mentions(cuda.errors, "--device cuda: "));
    CHECK(mentions(cuda.errors, engines[1]["remedy"].get<std::string>()));

    CHECK(testing::run_program({program, "list", "devices"}).exit_code == 0);
  }
}

TEST_CASE("a run on the CPU does not ask for CUDA") {
  const testing::TemporaryDirectory prefix;
  install(prefix.path(), "missing_library");
  const std::string program = (prefix.path() / "bin/ptbench").string();
  const ProgramResult run =
      testing::run_program({program, "run", "-w", "linear", "--steps", "5", "--device", "auto"});
  CHECK(run.exit_code == 0);
  CHECK_FALSE(mentions(run.errors, "cuda"));
}

TEST_CASE("validate names what is wrong with a file") {
  const testing::TemporaryDirectory directory;
  const std::string text = directory.write("text.json", "no json");
  const std::string empty = directory.write("empty.json", "{}");
  const ProgramResult result = ptbench({"validate", text, empty, "/nowhere.json"});
  CHECK(result.exit_code == 1);
  CHECK(result.output.empty());
  for (const std::string& file : {text, empty, std::string("/nowhere.json")})
    CHECK(mentions(result.errors, file));
}

}  // namespace ptbench

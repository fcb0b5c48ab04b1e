#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "reports/validate.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {

/// Empty where there is no such file, or no longer: one of a process may end while it is read.
[[nodiscard]] inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// A file of the repository.
[[nodiscard]] inline std::string source_text(const std::string& name) {
  const std::string text = contents_of(PTBENCH_SOURCE_DIR "/" + name);
  REQUIRE_FALSE(text.empty());
  return text;
}

/// What ptbench wrote as JSON: a plan, or a result, after a check that it keeps to the published
/// schema.
[[nodiscard]] inline nlohmann::json parse_json(const std::string& text) {
  static const ResultSchema schema(PTBENCH_SOURCE_DIR "/reports/schema");
  nlohmann::json document = nlohmann::json::parse(text);
  if (document.value("schema", "") == "ptbench.plan/1") return document;
  for (const SchemaProblem& problem : schema.problems_of(document))
    FAIL_CHECK(problem.pointer << ": " << problem.message);
  return document;
}

/// `ptbench run` as a user calls it, in a folder of its own, with a plan cache of its own.
class RunCommand {
 public:
  /// `deadline`: when the program is killed.
  explicit RunCommand(std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : deadline_(deadline) {}

  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }

  [[nodiscard]] ProgramResult operator()(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {PTBENCH_EXECUTABLE, "run"});
    return run_program(arguments, {.folder = folder_.path(),
                                   .environment = {"XDG_CACHE_HOME=" + path("cache").string()},
                                   .deadline = deadline_});
  }

  [[nodiscard]] std::string text(const std::string& name) const { return contents_of(path(name)); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }

  [[nodiscard]] nlohmann::json json(const std::string& name) const {
    return parse_json(text(name));
  }

  /// Files in the folder that a run should not leave behind.
  [[nodiscard]] int partial_files() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().string().find("ptbench-partial") != std::string::npos) ++count;
    return count;
  }

 private:
  TemporaryDirectory folder_;
  std::chrono::milliseconds deadline_;
};

/// The record of a run that went well, out of the file that it was asked to write.
[[nodiscard]] inline nlohmann::json record_of(const RunCommand& run, const ProgramResult& result,
                                              const std::string& name = "r.json") {
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return run.json(name)["runs"][0];
}

/// Of each step, out of what `--loss-log` wrote.
[[nodiscard]] inline std::vector<double> losses_of(const std::string& log) {
  std::istringstream lines(log);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "step,loss");
  std::vector<double> values;
  while (std::getline(lines, line)) {
    CHECK(line.starts_with(std::to_string(values.size() + 1) + ","));
    values.push_back(std::stod(line.substr(line.find(',') + 1)));
  }
  return values;
}

}  // namespace ptbench::testing

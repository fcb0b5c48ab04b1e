#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace ptbench::testing {

/// How a program is run and how long it may take.
struct ProgramSettings {
  std::filesystem::path folder = ".";
  std::vector<std::string> environment;  ///< "NAME=value", beside this process's own
  std::filesystem::path output;          ///< where standard output goes instead of the result
  std::chrono::milliseconds deadline = std::chrono::seconds(60);  ///< then it is killed
};

struct ProgramResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = 0;
  std::string output;
  std::string errors;
};

/// Runs `command` (the program's path first) to its end and returns what it said.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& command,
                                        const ProgramSettings& settings = {});

}  // namespace ptbench::testing

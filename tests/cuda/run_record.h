#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/run/command.h"

namespace ptbench::testing {

/// Arguments of the program.
using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The record of a run with these arguments, which ends well.
inline nlohmann::json record_of(const RunCommand& run, const Words& words) {
  const ProgramResult result = run(words + Words{"-o", "r.json"});
  CAPTURE(words, result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return run.json("r.json")["runs"][0];
}

}  // namespace ptbench::testing

// The variables of launchers: lines of NAME=value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "src/ranks/rank_source.h"
#include "tests/fuzz/hostile_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines(std::string(data, data + size));
  std::map<std::string, std::string> variables;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  ptbench::RankClues clues;
  clues.variable = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  clues.setter = [](const std::string&) { return 1; };
  clues.names = [&] {
    std::vector<std::string> names;
    for (const auto& entry : variables) names.push_back(entry.first);
    return names;
  };
  ptbench::fuzz::expect_usage_error_at_most([&] {
    const ptbench::RankPlace place = ptbench::find_rank(clues);
    const bool possible = place.rank >= 0 && place.rank < place.world_size && place.local_rank >= 0;
    if (!possible || (place.world_size > 1 && place.job.empty())) std::abort();
  });
  ptbench::fuzz::expect_usage_error_at_most([&] { (void)ptbench::find_launched_rank(clues); });
  return 0;
}

#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// A collective that no rank finishes before all have started it. Seconds of the rank's clock.
struct RankCollective {
  Size number = 0;  ///< in the order of the rank's collectives
  std::string name;
  double started = 0;
  double finished = 0;
};

/// A rank's trace.
struct RankTrace {
  std::string file;  ///< as messages call it
  Size rank = 0;
  Size world_size = 1;
  std::string run;
  std::string clock;                        ///< its identity
  nlohmann::json unix_time;                 ///< of the clock's zero, as the file has it
  std::vector<RankCollective> collectives;  ///< by number
  nlohmann::json events = nlohmann::json::array();
};

/// What `ptbench run --trace` wrote. Usage errors name the file: it is no JSON, or something else.
[[nodiscard]] RankTrace read_trace(std::string_view text, const std::string& file);
/// Usage errors also where it cannot be read or is too large.
[[nodiscard]] RankTrace read_trace_file(const std::filesystem::path& path);

/// How far a rank's clock is ahead of rank 0's, in seconds.
struct ClockOffset {
  Size rank = 0;
  double seconds = 0;      ///< what is subtracted from its times
  bool same_clock = true;  ///< it reads rank 0's clock, so that this is 0
  std::size_t collectives = 0;
  /// Median of how much later than rank 0, by the clocks, it finished a collective. Ranks finish
  /// one nearly together.
  std::optional<double> estimate;
  /// Nobody finishes a collective before everybody has started it, so it is surely not less, or
  /// more. Both or none: clocks that drift contradict each other.
  std::optional<double> at_least;
  std::optional<double> at_most;
};

/// By rank, ascending. Usage errors: a rank that is missing or there twice, traces of unlike runs,
/// unlike collectives, and different clocks without a collective to compare them by.
[[nodiscard]] std::vector<ClockOffset> compare_clocks(std::vector<RankTrace>& traces);

/// All traces, which compare_clocks has put in order, as one file by rank 0's clock.
[[nodiscard]] std::string merge_traces(const std::vector<RankTrace>& traces,
                                       const std::vector<ClockOffset>& offsets);

}  // namespace ptbench

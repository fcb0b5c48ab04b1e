#include "tests/architecture/size_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ptbench::architecture {
namespace {

constexpr std::ptrdiff_t kTooLong = 400;  // lines
constexpr double kLargestShare = 0.12;

std::ptrdiff_t lines_of(const SourceFile& file) { return std::ranges::count(file.text, '\n'); }

bool is_of_house(std::string_view room) {
  return !room.empty() && room != "tests" && room != "bench";
}

}  // namespace

std::vector<Finding> check_lengths(std::span<const SourceFile> files) {
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_code(file) || file.path.starts_with("tests/")) continue;
    const std::ptrdiff_t lines = lines_of(file);
    if (lines >= kTooLong)
      findings.push_back({file.path, 1, fmt::format("{} lines: cut it along its subjects", lines)});
  }
  return findings;
}

std::vector<Finding> check_room_sizes(std::span<const SourceFile> files) {
  std::map<std::string, std::ptrdiff_t, std::less<>> rooms;
  std::ptrdiff_t house = 0;
  for (const SourceFile& file : files) {
    const std::string_view room = room_of(file.path);
    if (!is_code(file) || !is_of_house(room)) continue;
    rooms[std::string(room)] += lines_of(file);
    house += lines_of(file);
  }
  std::vector<Finding> findings;
  for (const auto& [room, lines] : rooms) {
    const double share = static_cast<double>(lines) / static_cast<double>(house);
    if (room != "kernels" && share > kLargestShare)
      findings.push_back({room, 1,
                          fmt::format("{:.1f} % of the lines of all rooms, more than {:.0f} %",
                                      100 * share, 100 * kLargestShare)});
  }
  return findings;
}

}  // namespace ptbench::architecture

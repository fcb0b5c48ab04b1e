#include "reports/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "src/base/error.h"
#include "src/base/number.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "rank";
constexpr std::string_view kEnding = ".json";

std::string shown(const fs::path& path) { return single_line(path.string()); }

/// The rank whose trace has this name.
std::optional<Size> rank_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kEnding)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kEnding.size()));
  const auto rank = parse_whole(name);
  return rank ? std::optional(static_cast<Size>(*rank)) : std::nullopt;
}

/// Names in the folder; empty where it cannot be read.
std::vector<std::string> names_in(const fs::path& folder, std::error_code& error) {
  std::vector<std::string> names;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string trace_path(const fs::path& folder, Size rank) {
  return (folder / fmt::format("{}{}{}", kPrefix, rank, kEnding)).string();
}

void make_trace_folder(const fs::path& folder, Size ranks) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw usage_error(
        fmt::format("--trace '{}' cannot be made: {}", shown(folder), error.message()),
        "name a folder that you may write to");
  for (const std::string& name : names_in(folder, error)) {
    const auto rank = rank_of(name);
    if (rank && *rank >= ranks)
      throw usage_error(
          fmt::format("--trace '{}' holds '{}', of a run of more ranks than the {} of "
                      "this one",
                      shown(folder), single_line(name), ranks),
          "name another folder, or remove that file");
  }
}

std::vector<std::string> traces_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const std::string& name : names_in(folder, error))
    if (name.ends_with(kEnding)) paths.push_back((folder / name).string());
  if (error)
    throw usage_error(fmt::format("'{}' cannot be read: {}", shown(folder), error.message()),
                      "name the folder that ptbench run --trace wrote");
  if (paths.empty())
    throw usage_error(fmt::format("'{}' holds no traces", shown(folder)),
                      "name the folder that ptbench run --trace wrote");
  return paths;
}

std::string merged_path(const fs::path& folder) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(folder, error);
  if (!whole.has_filename()) whole = whole.parent_path();  // "trace/" is "trace"
  whole += "-merged.json";
  const fs::path near = fs::proximate(whole, error);
  return (error ? whole : near).string();
}

}  // namespace ptbench

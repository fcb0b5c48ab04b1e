#include "src/data/directory_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/data/byte_file.h"

namespace ptbench {

namespace fs = std::filesystem;

std::optional<fs::path> find_file(const fs::path& directory, const std::string& name) {
  for (const std::string& candidate : {name, name + ".gz"})
    if (file_exists(directory / candidate)) return directory / candidate;
  return std::nullopt;
}

bool holds_any(const fs::path& directory, std::span<const char* const> names) {
  return std::ranges::any_of(
      names, [&](const char* name) { return find_file(directory, name).has_value(); });
}

fs::path require_file(const fs::path& directory, const std::string& name, std::string_view format) {
  if (auto path = find_file(directory, name)) return std::move(*path);
  throw usage_error(
      fmt::format("{} has no {} and no {}.gz", quoted(directory), name, name),
      fmt::format("put the missing file there, beside the directory's other {} files", format));
}

Error different_shapes(const fs::path& directory, const Shape& train, const Shape& test) {
  return usage_error(fmt::format("{} trains on samples of {} and tests on samples of {}",
                                 quoted(directory), train.text(), test.text()),
                     "use training and test files of the same data set");
}

}  // namespace ptbench

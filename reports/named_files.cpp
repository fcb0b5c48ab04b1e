#include "reports/named_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/terminal.h"

namespace ptbench {

std::string whole_path(const std::string& path) {
  std::error_code failure;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failure);
  return failure ? path : whole.string();
}

void refuse_files_named_twice(const std::vector<std::string>& paths) {
  std::vector<std::string> whole;
  for (const std::string& path : paths)
    if (path != "-") whole.push_back(whole_path(path));
  std::ranges::sort(whole);
  const auto twice = std::ranges::adjacent_find(whole);
  if (twice != whole.end())
    throw usage_error(fmt::format("two options name the file '{}'", printable(*twice)),
                      "give each its own file");
}

ConsoleStyle console_style(std::FILE* stream) {
  const bool terminal = isatty(fileno(stream)) != 0;
  const bool plain = std::getenv("NO_COLOR") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  constexpr std::size_t kLeastColumns = 40;  // narrower text is hard to read, even wrapped twice
  return {.colour = terminal && !plain,
          .columns = text_columns(fileno(stream), kLeastColumns, kUsualColumns)};
}

}  // namespace ptbench

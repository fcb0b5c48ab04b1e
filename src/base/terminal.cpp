#include "src/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/number.h"

namespace ptbench {
namespace {

constexpr std::size_t kCommonColumns = 80;
constexpr std::uint64_t kMostColumns = 10'000;

/// What COLUMNS says; 0 where it says nothing that a width can be.
std::size_t variable_columns() {
  const char* columns = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): read only
  if (columns == nullptr) return 0;
  const auto number = parse_whole(columns);
  return number && *number <= kMostColumns ? static_cast<std::size_t>(*number) : 0;
}

}  // namespace

std::size_t terminal_columns(int file) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t text_columns(int file, std::size_t least, std::size_t elsewhere) {
  if (isatty(file) == 0) return elsewhere;
  std::size_t columns = terminal_columns(file);
  if (columns == 0) columns = variable_columns();
  return std::max(least, columns == 0 ? kCommonColumns : columns);
}

}  // namespace ptbench

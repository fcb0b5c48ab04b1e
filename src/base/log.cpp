#include "src/base/log.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptbench {
namespace {

void write_line(std::string_view label, std::string_view message) {
  // One call a line, so that lines of several threads do not mix. A closed standard error is no
  // reason to fail.
  const std::string line = fmt::format("ptbench: {}{}\n", label, message);
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void log_note(std::string_view message) { write_line("", message); }
void log_warning(std::string_view message) { write_line("warning: ", message); }
void log_error(std::string_view message) { write_line("error: ", message); }

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += letter;
  }
  return result;
}

}  // namespace ptbench

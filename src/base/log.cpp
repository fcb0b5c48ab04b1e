#include "src/base/log.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptbench {
namespace {

void write_line(std::string_view label, std::string_view message) {
  // One call a line, so that lines of several threads do not mix. A closed standard error is no
  // reason to fail.
  const std::string line = fmt::format("ptbench: {}{}\n", label, printable(message));
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void log_note(std::string_view message) { write_line("", message); }
void log_warning(std::string_view message) { write_line("warning: ", message); }
void log_error(std::string_view message) { write_line("error: ", message); }

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  unsigned char before = 0;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool second_of_control = before == 0xC2 && byte >= 0x80 && byte < 0xA0;  // of UTF-8
    before = byte;
    if (second_of_control) result.pop_back();
    if (byte < 0x20 || byte == 0x7F || second_of_control)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += letter;
  }
  return result;
}

}  // namespace ptbench

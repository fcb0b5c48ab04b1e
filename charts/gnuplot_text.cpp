#include "charts/gnuplot_text.h"

#include "reports/wrap.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

std::string doubled(std::string_view text, char letter) {
  std::string result;
  result.reserve(text.size());
  for (const char byte : text) result.append(byte == letter ? 2 : 1, byte);
  return result;
}

bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// Where the code point `number` of valid UTF-8 begins.
std::size_t offset_of(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_code_point(text[at]) && number-- == 0) break;
  return at;
}

}  // namespace

std::string gnuplot_quoted(std::string_view text) {
  return '\'' + doubled(single_line(text), '\'') + '\'';
}

std::string gnuplot_label(std::string_view text) { return gnuplot_quoted(doubled(text, '%')); }

std::string shortened(std::string_view text, std::size_t most) {
  std::string line = single_line(text);
  const std::size_t size = code_points(line);
  if (size <= most) return line;
  const std::size_t head = most / 2;
  const std::size_t tail = most - head - 1;
  return line.substr(0, offset_of(line, head)) + "…" + line.substr(offset_of(line, size - tail));
}

}  // namespace ptbench

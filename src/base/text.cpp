#include "src/base/text.h"

#include <fmt/format.h>

namespace ptbench {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_continuation(std::string_view text, std::size_t at, unsigned low = 0x80,
                     unsigned high = 0xBF) {
  return at < text.size() && byte_at(text, at) >= low && byte_at(text, at) <= high;
}

bool is_control(std::string_view sequence) {
  const unsigned first = byte_at(sequence, 0);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  return sequence.size() == 2 && first == 0xC2 && byte_at(sequence, 1) < 0xA0;
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return is_continuation(text, 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    // The bounds of the second byte shut out overlong forms and surrogates.
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return is_continuation(text, 1, low, high) && is_continuation(text, 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    const bool whole =
        is_continuation(text, 1, low, high) && is_continuation(text, 2) && is_continuation(text, 3);
    return whole ? 4 : 0;
  }
  return 0;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    result += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string single_line(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string result;
  result.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view sequence = rest.substr(0, utf8_sequence(rest));
    if (is_control(sequence))
      result += fmt::format("\\x{:02x}", byte_at(sequence, sequence.size() - 1));
    else
      result += sequence;
    rest.remove_prefix(sequence.size());
  }
  return result;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'')
      quoted += R"('\'')";
    else
      quoted += letter;
  }
  return quoted + '\'';
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(single_line(word));
  }
  return line;
}

}  // namespace ptbench

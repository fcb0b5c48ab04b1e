#include "src/base/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace ptbench {
namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  return parse_all<std::uint64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const std::optional<double> value = parse_all<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace ptbench

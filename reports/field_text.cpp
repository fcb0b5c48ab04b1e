#include "reports/field_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

/// "21.3 k" + "FLOP/s" is "21.3 kFLOP/s", "18.0" + "FLOP/s" is "18.0 FLOP/s".
std::string with_si_prefix(double value, std::string_view unit) {
  const std::string number = format_si(value);
  const bool has_prefix = number.find(' ') != std::string::npos;
  return fmt::format("{}{}{}", number, has_prefix ? "" : " ", unit);
}

std::string human_number(double value, Unit unit) {
  switch (unit) {
    case Unit::seconds: return format_duration(value);
    case Unit::bytes: return format_bytes(value > 0 ? static_cast<Bytes>(std::llround(value)) : 0);
    case Unit::fraction: return fmt::format("{:.1f} %", 100 * value);
    case Unit::joules: return fmt::format("{:.3g} J", value);
    case Unit::bytes_per_second:
    case Unit::operations:
    case Unit::operations_per_second: return with_si_prefix(value, name_of(unit));
    case Unit::samples_per_second:
    case Unit::tokens_per_second: return fmt::format("{} {}", format_si(value), name_of(unit));
    case Unit::none:
    case Unit::count: return fmt::format("{:.4g}", value);
  }
  throw Defect("a unit that nobody reads");
}

struct HumanText {
  Unit unit;

  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(std::int64_t value) const {
    if (unit == Unit::count || unit == Unit::none) return format_count(value);
    return human_number(static_cast<double>(value), unit);
  }
  std::string operator()(double value) const { return human_number(value, unit); }
  std::string operator()(const std::string& value) const { return single_line(value); }
};

}  // namespace

std::string number_text(double value) {
  ensure(std::isfinite(value), "a number that is not finite has no text");
  std::array<char, 32> text{};  // 24 characters at most
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string human_text(const FieldValue& value, Unit unit) {
  return std::visit(HumanText{unit}, value);
}

}  // namespace ptbench

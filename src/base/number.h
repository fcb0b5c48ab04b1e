#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptbench {

/// The whole of `text` as a decimal number without sign, blanks or exponent; empty for anything
/// else, and for what does not fit.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);

/// The whole of `text` as a finite decimal number ("0.01", "1e-3", "-2"), whatever the locale;
/// empty for anything else: "nan", "inf", trailing letters, a number that overflows.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

}  // namespace ptbench

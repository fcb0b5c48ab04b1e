#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/measure/record.h"

namespace ptbench {

// How values and the intervals about them are told, wherever people read them.

enum class IntervalForm : std::uint8_t {
  half_width,  ///< "value ± half": the longer half is less than `kLopsided` times the shorter
  both_ends,   ///< "value (low to high)"
  /// "low to high": the interval is wider than the value or reaches below 0, so that the value is
  /// not known well.
  ends_alone,
};

/// From here on a half width would be wrong about both ends.
inline constexpr double kLopsided = 1.2;

[[nodiscard]] IntervalForm form_of(double value, const Interval& interval);

/// Whether a ratio with that interval tells two things apart.
[[nodiscard]] bool is_told_from_one(const Interval& interval);

/// A ratio: "1.87 ± 0.03", "1.74 (1.32 to 2.29)", "0.85 to 3.56"; as many decimals as half the
/// width needs, two at least.
[[nodiscard]] std::string ratio_with_interval(double ratio, const Interval& interval);

/// A share: "90.0 ± 1.3 %", "90.0 % (70.1 to 115.5 %)", "46.3 to 363.9 %"; "90.0 %" without an
/// interval.
[[nodiscard]] std::string share_with_interval(double share,
                                              const std::optional<Interval>& interval);

/// A rate, which is above 0: "21.3 k ± 0.42 %", "21.3 k (15.1 k to 30.0 k)", "10.2 k to 33.1 k";
/// "21.3 k" without an interval. A unit stands after the numbers: "21.3 k samples/s ± 0.42 %".
[[nodiscard]] std::string rate_with_interval(double rate, const std::optional<Interval>& interval,
                                             std::string_view unit = {});

/// How far the ends of an interval lie from its value, as shares of it: "± 0.93 %", "-46 % to
/// +85 %". `deviation`: low / value − 1 and high / value − 1.
[[nodiscard]] std::string deviation_text(const Interval& deviation);

/// "0.93 %", "14 %": a share with two significant digits, for the half width of an interval.
[[nodiscard]] std::string noise_text(double share);

}  // namespace ptbench

#include "src/measure/interval_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

double half_of(const Interval& interval) { return (interval.high - interval.low) / 2; }

/// Decimals that show the first digit of half the width.
int decimals_of(const Interval& interval) {
  constexpr double kMostDecimals = 4;
  const double half = half_of(interval);
  return half > 0 ? static_cast<int>(std::clamp(std::ceil(-std::log10(half)), 2.0, kMostDecimals))
                  : 2;
}

std::string with_unit(std::string text, std::string_view unit) {
  if (!unit.empty()) text += fmt::format(" {}", unit);
  return text;
}

}  // namespace

IntervalForm form_of(double value, const Interval& interval) {
  const auto [shorter, longer] = std::minmax({value - interval.low, interval.high - value});
  if (interval.low < 0 || interval.high - interval.low > value) return IntervalForm::ends_alone;
  return longer < kLopsided * shorter || longer == shorter ? IntervalForm::half_width
                                                           : IntervalForm::both_ends;
}

bool is_told_from_one(const Interval& interval) { return interval.low > 1 || interval.high < 1; }

std::string ratio_with_interval(double ratio, const Interval& interval) {
  const int decimals = decimals_of(interval);
  const auto text = [decimals](double value) { return fmt::format("{:.{}f}", value, decimals); };
  std::string ends = text(interval.low) + " to " + text(interval.high);
  switch (form_of(ratio, interval)) {
    case IntervalForm::half_width: return text(ratio) + " ± " + text(half_of(interval));
    case IntervalForm::both_ends: return fmt::format("{} ({})", text(ratio), ends);
    case IntervalForm::ends_alone: return ends;
  }
  throw Defect("a form of intervals that nobody writes");
}

std::string share_with_interval(double share, const std::optional<Interval>& interval) {
  const auto text = [](double value) { return fmt::format("{:.1f}", kPercent * value); };
  if (!interval) return text(share) + " %";
  std::string ends = fmt::format("{} to {} %", text(interval->low), text(interval->high));
  switch (form_of(share, *interval)) {
    case IntervalForm::half_width:
      return fmt::format("{} ± {} %", text(share), text(half_of(*interval)));
    case IntervalForm::both_ends: return fmt::format("{} % ({})", text(share), ends);
    case IntervalForm::ends_alone: return ends;
  }
  throw Defect("a form of intervals that nobody writes");
}

std::string rate_with_interval(double rate, const std::optional<Interval>& interval,
                               std::string_view unit) {
  std::string text = with_unit(format_si(rate), unit);
  if (!interval || rate <= 0) return text;
  const std::string ends =
      fmt::format("{} to {}", format_si(interval->low), format_si(interval->high));
  switch (form_of(rate, *interval)) {
    case IntervalForm::half_width:
      return fmt::format("{} ± {}", text, noise_text(half_of(*interval) / rate));
    case IntervalForm::both_ends: return fmt::format("{} ({})", text, ends);
    case IntervalForm::ends_alone: return with_unit(ends, unit);
  }
  throw Defect("a form of intervals that nobody writes");
}

std::string deviation_text(const Interval& deviation) {
  const Interval about_one{.low = 1 + deviation.low, .high = 1 + deviation.high};
  if (form_of(1, about_one) == IntervalForm::half_width)
    return "± " + noise_text(half_of(deviation));
  const auto end = [](double share) {
    return (share < 0 ? "-" : "+") + noise_text(std::abs(share));
  };
  return end(deviation.low) + " to " + end(deviation.high);
}

std::string noise_text(double share) {
  const double percent = kPercent * share;
  return percent >= 10 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.2g} %", percent);
}

}  // namespace ptbench

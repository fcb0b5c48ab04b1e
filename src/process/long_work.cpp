#include "src/process/long_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/log.h"
#include "src/base/size.h"

namespace ptbench {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
/// Share from which on the pace alone tells how long the rest takes.
constexpr double kPaceIsKnown = 0.25;

Size rounded(double value) { return std::max<Size>(1, std::llround(value)); }

/// "40 s", "2 min", "1 h 20 min".
std::string short_duration(double seconds) {
  if (seconds < kMinute) return fmt::format("{} s", rounded(seconds));
  if (seconds < kHour) return fmt::format("{} min", rounded(seconds / kMinute));
  const Size minutes = rounded(seconds / kMinute);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

LongWork::LongWork(const Clock& clock, Voice voice) : clock_(clock), voice_(std::move(voice)) {}

void LongWork::begin(const std::string& announcement, double seconds) {
  begin_ = clock_.now();
  last_said_ = *begin_;
  expected_ = seconds;
  if (seconds >= kWorthSaying) say(announcement);
}

void LongWork::reach(double share, std::string place) {
  share_ = std::clamp(share, 0.0, 1.0);
  place_ = std::move(place);
  tick();
}

void LongWork::tick() {
  if (!begin_ || voice_.progress_is_seen) return;
  const double now = clock_.now();
  if (now - last_said_ < voice_.interval_seconds) return;
  last_said_ = now;
  say(text() + (place_.empty() ? "" : ": ") + place_);
}

std::optional<double> LongWork::seconds_left() const {
  if (!begin_) return std::nullopt;
  const double elapsed = clock_.now() - *begin_;
  if (share_ <= 0) return std::max(0.0, expected_ - elapsed);
  const double trust = std::min(1.0, share_ / kPaceIsKnown);
  return (1 - share_) * (trust * elapsed / share_ + (1 - trust) * expected_);
}

std::string LongWork::text() const {
  const std::optional<double> left = seconds_left();
  if (!left) return {};
  const std::string done = fmt::format("{:.0f} %", 100 * share_);
  // Nothing is known of the rest where the work takes longer than was expected and shows no pace.
  return *left > 0 ? fmt::format("{}, {} left", done, short_duration(*left)) : done;
}

void LongWork::say(const std::string& line) const {
  voice_.say ? voice_.say(line) : log_note(line);
}

}  // namespace ptbench

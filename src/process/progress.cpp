#include "src/process/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "src/base/terminal.h"

namespace ptbench {
namespace {

constexpr double kInterval = 0.1;       // seconds between two updates
constexpr double kTooSoonToTell = 0.5;  // seconds before an estimate means anything

/// A terminal, and one that knows how to clear a line.
bool can_clear_lines(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): read only
  return isatty(fileno(stream)) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

/// How wide the terminal is that this process was started from.
std::size_t columns_of_terminal() {
  const int terminal = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return 0;
  const std::size_t columns = terminal_columns(terminal);
  (void)close(terminal);
  return columns;
}

/// A line as wide as the terminal would wrap, and half of it could not be cleared.
std::size_t room_on(std::FILE* stream, bool passed_on) {
  std::size_t columns = terminal_columns(fileno(stream));
  if (columns == 0 && passed_on) columns = columns_of_terminal();
  return columns < 2 ? 79 : columns - 1;
}

/// `size` bytes of `line`, or fewer where these would end within a letter of UTF-8.
std::size_t whole_letters(std::string_view line, std::size_t size) {
  if (size >= line.size()) return line.size();
  while (size > 0 && (static_cast<unsigned char>(line[size]) & 0xC0U) == 0x80U) --size;
  return size;
}

/// "2 min 5 s", "12 s": whole seconds.
std::string_view write_time_left(double seconds, std::array<char, 32>& buffer) {
  const auto whole = static_cast<Size>(std::min(seconds, 1e9)) + 1;
  const auto end = whole < 60 ? fmt::format_to_n(buffer.data(), buffer.size(), "{} s left", whole)
                   : whole < 3600
                       ? fmt::format_to_n(buffer.data(), buffer.size(), "{} min {} s left",
                                          whole / 60, whole % 60)
                       : fmt::format_to_n(buffer.data(), buffer.size(), "{} h {} min left",
                                          whole / 3600, whole % 3600 / 60);
  return {buffer.data(), std::min(end.size, buffer.size())};
}

}  // namespace

Progress::Progress(const Clock& clock, std::FILE* stream)
    : Progress(clock, stream, can_clear_lines(stream)) {}

Progress::Progress(const Clock& clock, std::FILE* stream, bool visible, std::string prefix)
    : clock_(clock), stream_(stream), visible_(visible), prefix_(std::move(prefix)) {
  if (!prefix_.empty()) prefix_ += ": ";
}

void Progress::begin(std::string_view phase) {
  if (!visible_) return;
  phase_size_ = phase.copy(phase_.data(), phase_.size());
  phase_is_new_ = true;
  last_shown_ = -std::numeric_limits<double>::infinity();
}

void Progress::announce(std::string_view phase) {
  begin(phase);
  if (visible_) write({}, standing_, {});
}

bool Progress::due(double now) const { return now - last_shown_ >= kInterval; }

void Progress::update(Size done, Size total) {
  if (!visible_) return;
  const double now = clock_.now();
  if (!due(now)) return;
  std::array<char, 48> detail{};
  const auto end = fmt::format_to_n(detail.data(), detail.size(), "step {} of {}", done, total);
  const double share = static_cast<double>(done) / static_cast<double>(total);
  show(share, {detail.data(), std::min(end.size, detail.size())}, time_left(share, now), now);
}

void Progress::update(double share, std::string_view detail) {
  if (!visible_) return;
  const double now = clock_.now();
  if (due(now)) show(share, detail, time_left(share, now), now);
}

void Progress::show_all(double share, double seconds_left) {
  if (!visible_) return;
  const double now = clock_.now();
  if (due(now)) show(share, {}, seconds_left, now);
}

void Progress::count(Size done, Size total) {
  if (!visible_) return;
  const double now = clock_.now();
  if (!due(now)) return;
  std::array<char, 48> place{};
  const auto end = fmt::format_to_n(place.data(), place.size(), " {}/{}", done, total);
  write({place.data(), std::min(end.size, place.size())}, standing_,
        time_left(static_cast<double>(done) / static_cast<double>(total), now));
  last_shown_ = now;
}

void Progress::show(double share, std::string_view detail, std::optional<double> seconds_left,
                    double now) {
  std::array<char, 16> place{};
  const double percent = 100 * std::clamp(share, 0.0, 1.0);
  const auto end = fmt::format_to_n(place.data(), place.size(), " {:3.0f} %", percent);
  write({place.data(), std::min(end.size, place.size())}, detail.empty() ? standing_ : detail,
        seconds_left);
  last_shown_ = now;
}

/// Seconds that the rest of the phase takes at the pace so far; empty while that is too short to
/// tell.
std::optional<double> Progress::time_left(double share, double now) {
  const double done = std::clamp(share, 0.0, 1.0);
  if (phase_is_new_) {
    first_share_ = done;
    first_shown_ = now;
    phase_is_new_ = false;
  }
  const double elapsed = now - first_shown_;
  if (done <= first_share_ || elapsed < kTooSoonToTell) return std::nullopt;
  return elapsed * (1 - done) / (done - first_share_);
}

/// `place` follows the phase as it is.
void Progress::write(std::string_view place, std::string_view detail,
                     std::optional<double> seconds_left) {
  std::array<char, 32> time{};
  const std::string_view left = seconds_left ? write_time_left(*seconds_left, time) : "";
  std::array<char, 240> line{};
  const std::size_t most = line.size() - kClearRest.size();
  const auto end = fmt::format_to_n(
      line.data(), most, "\r{}{}{}{}{}{}{}", prefix_, std::string_view(phase_.data(), phase_size_),
      place, detail.empty() ? "" : "  ", detail, left.empty() ? "" : "  ", left);
  const std::size_t size = whole_letters({line.data(), std::min(end.size, most)},
                                         room_on(stream_, !prefix_.empty()) + 1);
  (void)kClearRest.copy(line.data() + size, kClearRest.size());
  // One call for the whole line, so that other messages do not fall into it. A terminal that is
  // gone is no reason to fail.
  (void)std::fwrite(line.data(), 1, size + kClearRest.size(), stream_);
  (void)std::fflush(stream_);
  shown_ = true;
}

void Progress::pass_on(std::string_view text) {
  if (!text.empty()) (void)std::fwrite(text.data(), 1, text.size(), stream_);
  (void)std::fflush(stream_);
  shown_ = visible_;
}

void Progress::clear() {
  if (!shown_) return;
  (void)std::fputs("\r\x1b[K", stream_);
  (void)std::fflush(stream_);
  shown_ = false;
  last_shown_ = -std::numeric_limits<double>::infinity();
}

}  // namespace ptbench

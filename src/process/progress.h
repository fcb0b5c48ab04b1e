#pragma once

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/clock.h"
#include "src/base/size.h"

namespace ptbench {

/// What ends each line of progress: the terminal clears the rest of the line.
inline constexpr std::string_view kClearRest = "\x1b[K";

/// One line on a terminal that says how far a long phase has come and how long it will still take;
/// nothing where the stream is no terminal. Shown at most ten times a second; `update` may be
/// called at every step: it reads the clock and allocates nothing. Call `clear` before other
/// messages.
class Progress {
 public:
  /// Shows on `stream` if that is a terminal that can clear a line. Both outlive the progress.
  explicit Progress(const Clock& clock, std::FILE* stream = stderr);
  /// `visible` decides, for tests, and for a process whose standard error another one passes on to
  /// a terminal. "PREFIX: " stands before every line, unless it is empty.
  Progress(const Clock& clock, std::FILE* stream, bool visible, std::string prefix = {});
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A new phase begins. Its time left is told by the pace since its first update, after half a
  /// second. `phase` is copied, 40 bytes of it at most.
  void begin(std::string_view phase);
  /// As `begin`, and shows at once that it has begun.
  void announce(std::string_view phase);
  /// `done` of `total` steps are through (total > 0).
  void update(Size done, Size total);
  /// As before, for phases that end with time rather than with a number of steps: `share` of the
  /// phase is over, from 0 to 1. `detail`, such as a first result, stands behind it.
  void update(double share, std::string_view detail = {});
  /// As `update`, where the time left is known.
  void show_all(double share, double seconds_left);
  /// "PHASE 12/40": the twelfth of 40 things is done (total > 0). For things that take as long as
  /// choosing an operator does; not for steps.
  void count(Size done, Size total);
  /// Stands behind the lines of all phases from now on that have no detail of their own.
  void keep(std::string detail) { standing_ = std::move(detail); }
  /// Writes what another process wrote for the stream, its own progress perhaps, which the next
  /// `clear` takes off too.
  void pass_on(std::string_view text);
  /// Takes the line off the terminal.
  void clear();

  [[nodiscard]] bool visible() const { return visible_; }
  /// Whether an update would be shown now: else its detail need not be made.
  [[nodiscard]] bool due() const { return visible_ && due(clock_.now()); }

 private:
  [[nodiscard]] bool due(double now) const;
  void show(double share, std::string_view detail, std::optional<double> seconds_left, double now);
  [[nodiscard]] std::optional<double> time_left(double share, double now);
  void write(std::string_view place, std::string_view detail, std::optional<double> seconds_left);

  const Clock& clock_;
  std::FILE* stream_;
  bool visible_;
  std::string prefix_;    ///< with what separates it
  std::string standing_;  ///< detail of lines that have no other
  bool shown_ = false;
  bool phase_is_new_ = true;
  double first_share_ = 0;
  double first_shown_ = 0;
  double last_shown_ = 0;
  std::array<char, 40> phase_{};
  std::size_t phase_size_ = 0;
};

}  // namespace ptbench

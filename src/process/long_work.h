#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/base/clock.h"

namespace ptbench {

/// All that a command does that may take minutes. It says before it begins how long that will be.
/// Where no line of progress can be seen, it then says every half minute how far it has come.
class LongWork {
 public:
  struct Voice {
    bool progress_is_seen = false;  ///< on a terminal: nothing is said in between
    /// Writes a line; empty: log_note.
    std::function<void(const std::string& line)> say = nullptr;
    double interval_seconds = 30;  ///< between two lines
  };

  /// What lasts for less is not announced.
  static constexpr double kWorthSaying = 5;

  /// `clock` outlives it.
  LongWork(const Clock& clock, Voice voice);

  /// Says `announcement`, such as "6 rows, about 2 minutes", if `seconds`, which the work is
  /// expected to take, are worth it.
  void begin(const std::string& announcement, double seconds);
  /// `share` of it is through, from 0 to 1; `place` is what goes on, such as "row 2 of 6".
  void reach(double share, std::string place);
  /// Whoever waits calls it now and then; it says a line when it is time.
  void tick();

  [[nodiscard]] bool has_begun() const { return begin_.has_value(); }
  [[nodiscard]] double share() const { return share_; }
  /// By what was expected at first, and ever more by the pace so far. Empty before it begins.
  [[nodiscard]] std::optional<double> seconds_left() const;
  /// "12 %, 2 min left"; empty before it begins.
  [[nodiscard]] std::string text() const;

 private:
  void say(const std::string& line) const;

  const Clock& clock_;
  Voice voice_;
  std::optional<double> begin_;
  double expected_ = 0;  ///< seconds of all of it
  double share_ = 0;
  std::string place_;
  double last_said_ = 0;
};

}  // namespace ptbench

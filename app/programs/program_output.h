#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "src/process/progress.h"
#include "src/process/shown_lines.h"

namespace ptbench {

/// What a program prints on one of its streams: passed on to standard error line by line, each
/// behind a label, up to a number of bytes; the rest is read and dropped. On standard error, each
/// line is shown once: ranks of a framework print the same warnings.
class ProgramOutput {
 public:
  /// What is shown of one stream.
  static constexpr std::size_t kMostShown = std::size_t{64} << 10U;

  /// `progress` outlives it. `shows_once`: no line is shown twice.
  ProgramOutput(Progress& progress, bool shows_once)
      : progress_(progress), shows_once_(shows_once) {}

  void take(std::string_view text);
  /// Its last lines with words, as part of a message; empty where there is none.
  [[nodiscard]] std::string last_lines() const;

 private:
  void handle(std::string_view line);

  Progress& progress_;
  bool shows_once_;
  ShownLines lines_;
  std::string pending_;  ///< begins a line
  std::size_t shown_ = 0;
  bool is_cut_ = false;
  std::deque<std::string> last_;
};

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "src/process/progress.h"

namespace ptbench {

/// What a program prints on one of its streams: passed on to standard error line by line, each
/// behind a label, up to a number of bytes; the rest is read and dropped.
class ProgramOutput {
 public:
  /// What is shown of one stream.
  static constexpr std::size_t kMostShown = std::size_t{64} << 10U;

  /// `progress` outlives it.
  explicit ProgramOutput(Progress& progress) : progress_(progress) {}

  void take(std::string_view text);
  /// Its last lines with words, as part of a message; empty where there is none.
  [[nodiscard]] std::string last_lines() const;

 private:
  void handle(std::string_view line);

  Progress& progress_;
  std::string pending_;  ///< begins a line
  std::size_t shown_ = 0;
  bool is_cut_ = false;
  std::deque<std::string> last_;
};

}  // namespace ptbench

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "src/base/size.h"
#include "src/process/progress.h"
#include "src/process/shown_lines.h"

namespace ptbench {

/// What a `ptbench` that this one started says on standard error: passed on, messages line by line
/// and progress as it comes, but for the error that ends it, which is this program's to report. A
/// label such as "[rank 1] " stands before each message that is passed on.
class ProcessMessages {
 public:
  /// `progress` and `shown` outlive it. Messages that another process has printed are not passed on
  /// again; `shown` null: there is none.
  explicit ProcessMessages(Progress& progress, std::string label = {}, ShownLines* shown = nullptr)
      : progress_(progress),
        label_(std::move(label)),
        shown_(shown),
        process_(shown == nullptr ? 0 : shown->add_process()) {}

  void take(std::string_view text);
  /// The process has ended: passes on what has no end of line.
  void finish();

  /// The error that ended the process, and its remedy; empty if it reported none.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::string& remedy() const { return remedy_; }
  /// The error, or else the last line with words that is no progress; without control characters.
  [[nodiscard]] std::string last() const;

 private:
  void handle(std::string_view piece);

  Progress& progress_;
  std::string label_;
  ShownLines* shown_;
  Size process_;
  std::string pending_;  ///< begins a line or a line of progress
  std::string error_;
  std::string remedy_;
  std::string last_line_;
};

}  // namespace ptbench

#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "src/base/size.h"

namespace ptbench {

/// What the processes of a command have printed. A line that each of many processes prints, such as
/// a warning of its framework, is to be shown once.
class ShownLines {
 public:
  /// Beyond so many different lines, all are taken for new: nobody reads that many.
  static constexpr std::size_t kMostLines = 10'000;

  /// A number for another process.
  [[nodiscard]] Size add_process() { return processes_++; }
  /// Whether no process but `process` has printed `line`. Lines that differ only in the time that a
  /// logger puts before them ("[W1128 13:11:03.123 12345 file.py:7] text") are the same.
  [[nodiscard]] bool is_new(std::string_view line, Size process);

 private:
  std::unordered_map<std::string, Size> first_;  ///< line → process
  Size processes_ = 0;
};

/// `line` without the date, time and process that glog's format and PyTorch's put before it.
[[nodiscard]] std::string without_log_time(std::string_view line);

}  // namespace ptbench

#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// Results of a benchmark over time: a file with one compact result a line, the newest last. Lines
/// leave out raw step_seconds; repetitions and slices tell what a comparison needs.
class ResultHistory {
 public:
  explicit ResultHistory(std::filesystem::path file) : file_(std::move(file)) {}

  /// The newest entries, `count` of them or as many as there are, oldest first; none where there is
  /// no file. Entries that are one of the records `without`, or the same as a newer entry, are
  /// passed over. A usage error that names the line for one that is no result or is longer than
  /// `kLargestResultFile`, and where the file is none that ends.
  [[nodiscard]] std::vector<ResultFile> last(Size count,
                                             std::span<const ResultFile> without = {}) const;

  /// Whether any entry is one of these records. Lines that are no result are none. A usage error
  /// where the file cannot be read, or is none that ends.
  [[nodiscard]] bool holds(std::span<const ResultFile> records) const;

  /// Adds a line, whole or not at all, and makes the file if there is none. Lines that several
  /// processes add at a time do not mix. A usage error where that fails.
  void append(const ResultFile& result) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  /// Not open where there is no file.
  [[nodiscard]] std::ifstream open_to_read() const;

  std::filesystem::path file_;
};

}  // namespace ptbench

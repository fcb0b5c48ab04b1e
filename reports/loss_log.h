#pragma once

#include <array>
#include <cstddef>
#include <filesystem>

#include "src/base/size.h"
#include "src/process/output_file.h"

namespace ptbench {

/// The file of `--loss-log`: a header `step,loss`, then one line a training step, counted from 1,
/// warm-up included; each loss as the shortest text that reads back as the same float, an empty
/// cell where it is not finite. Appears at its path when it is committed.
class LossLog {
 public:
  /// Throws the usage errors of OutputFile.
  explicit LossLog(const std::filesystem::path& path);

  /// The next step's loss. Allocates nothing; only stores the number until the buffer is full, so
  /// that it may stand in the time that is measured.
  void append(float loss);
  /// Formats and writes what is stored; best called between samples.
  void flush();
  /// Publishes the log so far; it is complete then.
  void commit();

 private:
  std::array<float, 1 << 14> losses_{};
  std::size_t stored_ = 0;
  Size step_ = 0;  ///< last one written
  OutputFile file_;
};

}  // namespace ptbench

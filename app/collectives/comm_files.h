#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "src/process/output_file.h"

namespace ptbench {

/// What `comm --output` writes: .json as --json prints it, .md a Markdown table, .txt the table for
/// people.
class CommFiles {
 public:
  /// Opens the files, so that what cannot be written is known before anything is measured. Throws
  /// usage errors.
  explicit CommFiles(const std::vector<std::string>& outputs);

  /// Writes all of them.
  void publish(const std::vector<CommMeasurement>& rows);

 private:
  struct Report {
    std::string (*write)(const std::vector<CommMeasurement>& rows);
    std::unique_ptr<OutputFile> file;
  };

  std::vector<Report> reports_;
};

}  // namespace ptbench

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/publish/reporter_catalog.h"
#include "src/measure/record.h"
#include "src/process/output_file.h"

namespace ptbench {

/// The files of one side of a sweep, which are written again and again. All are opened when this is
/// made, so that what cannot be written is known before anything is measured.
class SweepFiles {
 public:
  /// `outputs` as the user named them, without "-".
  explicit SweepFiles(const std::vector<std::string>& outputs);

  /// Writes `result` in place of what each file held, but for those that are for the end.
  void save(const ResultFile& result);
  /// Writes `result` in place of what the files held that are for the end.
  void finish(const ResultFile& result);

 private:
  struct Report {
    const Reporter* reporter;
    std::unique_ptr<OutputFile> file;
  };

  std::vector<Report> reports_;
};

}  // namespace ptbench

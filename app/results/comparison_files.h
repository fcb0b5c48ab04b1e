#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/publish/page_report.h"
#include "app/results/compare_options.h"
#include "src/judge/comparison.h"
#include "src/measure/record.h"
#include "src/process/output_file.h"

namespace ptbench {

/// The files that a comparison writes, opened before anything is read.
class ComparisonFiles {
 public:
  /// A usage error for a name that ends in no known format, and for one that cannot be written.
  explicit ComparisonFiles(const std::vector<std::string>& outputs);

  void publish(const ComparedResults& compared);

 private:
  struct Report {
    std::string (*write)(const ComparedResults&);
    std::unique_ptr<OutputFile> file;
  };

  std::vector<Report> files_;
};

/// The table, or JSON and the table on standard error, as `config` asks; and what to do about
/// unlike plans.
void print_comparison(const Comparison& comparison, const CompareConfig& config);

}  // namespace ptbench

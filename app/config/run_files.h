#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/run_options.h"
#include "app/publish/reporter_catalog.h"
#include "reports/loss_log.h"
#include "src/measure/record.h"
#include "src/process/output_file.h"

namespace ptbench {

/// The files that a run writes. All are opened when this is made, so that what cannot be written is
/// known before anything is measured. The folder of --trace is made where it is absent.
class RunFiles {
 public:
  explicit RunFiles(const RunOptions& options);

  /// Null without --loss-log.
  [[nodiscard]] LossLog* loss_log() { return loss_log_.get(); }
  /// Null without --save-initial-weights, --save-final-weights.
  [[nodiscard]] OutputFile* initial_weights() { return initial_weights_.get(); }
  [[nodiscard]] OutputFile* final_weights() { return final_weights_.get(); }
  /// This rank's; null without --trace.
  [[nodiscard]] OutputFile* trace() { return trace_.get(); }

  /// Gives up what training writes, the loss log, weights and a trace, for another process to
  /// write: it is known now that it can.
  void leave_training_files();

  /// Publishes the files of a process that reports to another one: only what training writes.
  void publish_training_files();

  /// Writes `result` in every format that was asked for, and publishes the loss log. The summary
  /// goes to standard output, or to standard error where that carries JSON.
  void publish(const ResultFile& result);

 private:
  struct Report {
    const Reporter* reporter;
    std::unique_ptr<OutputFile> file;
  };

  std::vector<Report> reports_;
  bool json_on_standard_output_ = false;
  std::unique_ptr<LossLog> loss_log_;
  std::unique_ptr<OutputFile> initial_weights_;
  std::unique_ptr<OutputFile> final_weights_;
  std::unique_ptr<OutputFile> trace_;
};

}  // namespace ptbench

#include "app/config/run_files.h"

#include <fmt/format.h>

#include <cstdio>

#include "reports/console.h"
#include "reports/json.h"
#include "reports/named_files.h"
#include "reports/trace_files.h"
#include "strategies/strategy_catalog.h"

namespace ptbench {
namespace {

/// Two options that name one file would overwrite each other's work.
void refuse_shared_files(const RunOptions& options) {
  std::vector<std::string> paths = options.outputs;
  for (const auto& file : {options.loss_log, options.save_initial_weights,
                           options.save_final_weights, options.plan_file})
    if (file) paths.push_back(*file);
  if (options.trace) paths.push_back(trace_path(*options.trace, options.place.rank.value_or(0)));
  refuse_files_named_twice(paths);
}

std::unique_ptr<OutputFile> open_trace(const RunOptions& options) {
  if (!options.trace) return nullptr;
  const bool one_process = !options.program && find_strategy(options.strategy).one_process;
  make_trace_folder(*options.trace, one_process ? 1 : options.nproc);
  return std::make_unique<OutputFile>(trace_path(*options.trace, options.place.rank.value_or(0)));
}

std::unique_ptr<OutputFile> open(const std::optional<std::string>& path) {
  return path ? std::make_unique<OutputFile>(*path) : nullptr;
}

}  // namespace

RunFiles::RunFiles(const RunOptions& options) : json_on_standard_output_(options.json) {
  refuse_shared_files(options);
  for (const std::string& output : options.outputs) {
    const Reporter& reporter = find_reporter(output);
    if (output == "-")
      json_on_standard_output_ = true;
    else
      reports_.push_back({&reporter, std::make_unique<OutputFile>(output)});
  }
  if (options.loss_log) loss_log_ = std::make_unique<LossLog>(*options.loss_log);
  initial_weights_ = open(options.save_initial_weights);
  final_weights_ = open(options.save_final_weights);
  trace_ = open_trace(options);
}

void RunFiles::leave_training_files() {
  loss_log_.reset();
  initial_weights_.reset();
  final_weights_.reset();
  trace_.reset();
}

void RunFiles::publish_training_files() {
  if (loss_log_) loss_log_->commit();
}

void RunFiles::publish(const ResultFile& result) {
  publish_training_files();
  for (const Report& report : reports_) report.file->commit(report.reporter->write(result));
  if (json_on_standard_output_) {
    fmt::print(stderr, "{}", to_console(result, console_style(stderr)));
    fmt::print("{}", to_json(result));
  } else {
    fmt::print("{}", to_console(result, console_style(stdout)));
  }
}

}  // namespace ptbench

#include "src/app/run_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "reports/console.h"
#include "reports/json.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

/// Two options that name one file would overwrite each other's work.
void refuse_shared_files(const RunOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& output : options.outputs)
    if (output != "-") paths.push_back(output);
  for (const auto& file : {options.loss_log, options.save_initial_weights,
                           options.save_final_weights, options.plan_file})
    if (file) paths.push_back(*file);
  for (std::string& path : paths)
    path = std::filesystem::absolute(path).lexically_normal().string();
  std::ranges::sort(paths);
  const auto twice = std::ranges::adjacent_find(paths);
  if (twice != paths.end())
    throw usage_error(fmt::format("two options name the file '{}'", printable(*twice)),
                      "give each its own file");
}

std::unique_ptr<OutputFile> open(const std::optional<std::string>& path) {
  return path ? std::make_unique<OutputFile>(*path) : nullptr;
}

ConsoleStyle style_of(std::FILE* stream) {
  const bool terminal = isatty(fileno(stream)) != 0;
  const bool plain = std::getenv("NO_COLOR") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  return {.colour = terminal && !plain};
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
}

void RunFiles::publish(const ResultFile& result) {
  if (loss_log_) loss_log_->commit();
  for (const Report& report : reports_) report.file->commit(report.reporter->write(result));
  if (json_on_standard_output_) {
    fmt::print(stderr, "{}", to_console(result, style_of(stderr)));
    fmt::print("{}", to_json(result));
  } else {
    fmt::print("{}", to_console(result, style_of(stdout)));
  }
}

}  // namespace ptbench

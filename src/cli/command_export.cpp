#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "exports/catalog.h"
#include "reports/named_files.h"
#include "reports/output_file.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cli/command_table.h"
#include "src/compare/compared_files.h"

namespace ptbench {
namespace {

struct ExportOptions {
  std::vector<std::string> results;
  std::string format;
  std::string output = "-";
};

void refuse_to_overwrite(const std::string& output, const std::vector<std::string>& read) {
  const auto is_output = [whole = whole_path(output)](const std::string& path) {
    return whole_path(path) == whole;
  };
  if (output != "-" && std::ranges::any_of(read, is_output))
    throw usage_error(fmt::format("--output '{}' is a file that is read", printable(output)),
                      "name another file");
}

std::vector<NamedResult> named_results(const std::vector<std::string>& paths) {
  std::vector<ResultFile> results = read_results(paths);
  std::vector<NamedResult> named;
  named.reserve(results.size());
  for (std::size_t index = 0; index < results.size(); ++index)
    named.push_back({.file = paths[index], .result = std::move(results[index])});
  return named;
}

void tell_what_was_left_out(const Exporter& exporter, const std::vector<std::string>& left_out) {
  if (left_out.empty()) return;
  log_warning(fmt::format("{} left out of {}: {}{}",
                          left_out.size() == 1
                              ? std::string("a run without figures was")
                              : fmt::format("{} runs without figures were", left_out.size()),
                          exporter.name, left_out.front(), left_out.size() == 1 ? "" : "; …"));
}

ExitCode export_files(const ExportOptions& options) {
  const Exporter& exporter = find_exporter(options.format);
  const std::vector<std::string> paths = result_paths(options.results);
  refuse_results_named_twice(paths);
  refuse_to_overwrite(options.output, paths);
  std::optional<OutputFile> file;
  if (options.output != "-") file.emplace(options.output);
  const Export done = export_results(exporter, named_results(paths));
  if (file)
    file->commit(done.text);
  else
    write_standard_output(done.text);
  tell_what_was_left_out(exporter, done.left_out);
  return ExitCode::ok;
}

}  // namespace

Command make_export_command() {
  return with_options<ExportOptions>(
      {.name = "export",
       .summary = "write results in other tools' formats",
       .description = "The runs' ids become names. Values that are not known are left out. Runs "
                      "that failed, or did not match serial training, become failures where the "
                      "format has them; otherwise they are left out with a warning. ptbench list "
                      "exports says which tool reads which format.",
       .examples = {{"ptbench export results.json --format gbench -o new.json",
                     "for Google Benchmark's compare.py"},
                    {"ptbench export results.json --format gha-bigger -o throughput.json",
                     "for github-action-benchmark, customBiggerIsBetter"},
                    {"ptbench export before.json after.json --format hyperfine -o times.json",
                     "for hyperfine's scripts"},
                    {"ptbench export results/ --format jsonl",
                     "all runs of a folder, one a line"}}},
      OptionTable<ExportOptions>(
          {text_list_option({.name = "RESULT",
                             .group = "Arguments",
                             .help = "a result of run or sweep (.json), or a folder of them",
                             .example = "results.json",
                             .hint = ValueHint::file,
                             .argument = true,
                             .required = true},
                            &ExportOptions::results),
           choice_option({.name = "format",
                          .short_name = 'f',
                          .value = "NAME",
                          .group = "Output",
                          .help = "the format, named after the tool that reads it",
                          .example = "gbench",
                          .choices = exporter_names(),
                          .required = true},
                         &ExportOptions::format),
           text_option({.name = "output",
                        .short_name = 'o',
                        .value = "FILE",
                        .help = "the file to write; - is standard output",
                        .fallback = "-",
                        .example = "new.json",
                        .hint = ValueHint::file},
                       &ExportOptions::output)}),
      export_files);
}

}  // namespace ptbench

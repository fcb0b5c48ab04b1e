#include <fmt/format.h>

#include <new>
#include <string>
#include <vector>

#include "reports/output_file.h"
#include "reports/read_result.h"
#include "reports/validate.h"
#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cli/command_table.h"
#include "src/device/memory_cap.h"

namespace ptbench {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
};

void report(const Error& error) {
  log_error(error.what());
  log_note("remedy: " + error.remedy());
}

/// What the schema does not allow in `file`, one line each; none if it is valid. Usage errors as
/// those of `read_json_file`.
std::vector<std::string> problems_of(const ResultSchema& schema, const std::string& file) {
  const MemoryCap cap;
  try {
    const JsonDocument document = read_json_file(file);
    std::vector<std::string> problems;
    for (const SchemaProblem& problem : schema.problems_of(*document))
      problems.push_back(fmt::format("{}: {}: {}", single_line(file),
                                     problem.pointer.empty() ? "the document" : problem.pointer,
                                     problem.message));
    return problems;
  } catch (const std::bad_alloc&) {  // of more problems than fit
    throw out_of_memory(file);
  }
}

/// Whether `file` is valid, which is told.
bool validate_file(const ResultSchema& schema, const std::string& file) {
  std::vector<std::string> problems;
  try {
    problems = problems_of(schema, file);
  } catch (const Error& error) {
    report(error);
    return false;
  }
  for (const std::string& problem : problems) log_error(problem);
  if (problems.empty()) write_standard_output(fmt::format("{}: valid\n", single_line(file)));
  return problems.empty();
}

ExitCode validate_files(const ValidateOptions& options) {
  const ResultSchema schema(install_paths().schema);
  ExitCode code = ExitCode::ok;
  for (const std::string& file : options.files)
    if (!validate_file(schema, file)) code = ExitCode::usage;
  return code;
}

}  // namespace

Command make_validate_command() {
  return with_options<ValidateOptions>(
      {.name = "validate",
       .summary = "check result files against the published JSON Schema",
       .description =
           "The file's \"schema\" says which one. Names each valid file on standard output, and on "
           "standard error each place in a file "
           "that the schema does not allow. Ends with 1 if any file is not valid or cannot be "
           "read; the others are checked all the same.",
       .examples = {{"ptbench validate results.json",
                     "check a result, also one that another program wrote"},
                    {"ptbench validate *.json", "check several"}}},
      OptionTable<ValidateOptions>({text_list_option({.name = "FILE",
                                                      .group = "Arguments",
                                                      .help = "a result that run wrote as .json",
                                                      .example = "results.json",
                                                      .hint = ValueHint::file,
                                                      .argument = true,
                                                      .required = true},
                                                     &ValidateOptions::files)}),
      validate_files);
}

}  // namespace ptbench

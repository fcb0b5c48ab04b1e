#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "reports/output_file.h"
#include "reports/validate.h"
#include "src/app/command_table.h"
#include "src/app/install_paths.h"
#include "src/base/log.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

constexpr const char* kSchemaFile = "ptbench.result-1.schema.json";

struct ValidateOptions {
  std::vector<std::string> files;
};

/// What is wrong with `file`, one line each; none if it is valid.
std::vector<std::string> problems_of(const ResultSchema& schema, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {"cannot be opened"};
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    return {single_line(error.what())};
  }
  std::vector<std::string> problems;
  for (const SchemaProblem& problem : schema.problems_of(document))
    problems.push_back(fmt::format(
        "{}: {}", problem.pointer.empty() ? "the document" : problem.pointer, problem.message));
  return problems;
}

ExitCode validate_files(const ValidateOptions& options) {
  const ResultSchema schema(install_paths().schema / kSchemaFile);
  ExitCode code = ExitCode::ok;
  for (const std::string& file : options.files) {
    const std::vector<std::string> problems = problems_of(schema, file);
    for (const std::string& problem : problems)
      log_error(fmt::format("{}: {}", single_line(file), problem));
    if (problems.empty())
      write_standard_output(fmt::format("{}: valid\n", single_line(file)));
    else
      code = ExitCode::usage;
  }
  return code;
}

}  // namespace

Command make_validate_command() {
  return with_options<ValidateOptions>(
      {.name = "validate",
       .summary = "check result files against the published JSON Schema",
       .description =
           "Names each valid file on standard output, and on standard error each place in a file "
           "that the schema does not allow. Ends with 1 if any file is not valid.",
       .examples = {{"ptbench validate results.json",
                     "check a result, also one that another program wrote"},
                    {"ptbench validate *.json", "check several"}},
       .options = {},
       .run = {}},
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

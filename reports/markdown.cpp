#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/conclusion.h"
#include "reports/markdown_text.h"
#include "reports/runs_table.h"
#include "reports/scaling_text.h"
#include "reports/table.h"
#include "reports/troubles.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/measure/reliability.h"

namespace ptbench {
namespace {

/// The same cells, escaped.
std::string escaped_table(std::vector<TextColumn> columns) {
  for (TextColumn& column : columns) {
    column.heading = markdown_escaped(column.heading);
    for (std::string& cell : column.cells) cell = markdown_escaped(cell);
  }
  return table_markdown(runs_table(columns));
}

std::string runs_of(const ResultFile& file) {
  std::vector<TextColumn> identity = identity_columns(file);
  const std::string common = common_text(identity);
  if (file.runs.size() > 1)
    std::erase_if(identity, [](const TextColumn& column) { return !varies(column); });
  std::vector<TextColumn> figures = figure_columns(file);
  std::vector<TextColumn> columns = std::move(identity);
  columns.insert(columns.end(), figures.begin(), figures.end());
  std::string text = file.runs.size() > 1 && !common.empty()
                         ? fmt::format("All runs: {}.\n\n", markdown_escaped(common))
                         : std::string();
  text += escaped_table(std::move(columns)) + '\n';
  if (const std::string meanings = meanings_text(figures); !meanings.empty())
    text += fmt::format("{}.\n\n", markdown_escaped(meanings));
  return text;
}

std::string section_of(std::string_view heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = fmt::format("**{}**\n\n", heading);
  for (const std::string& line : lines) text += fmt::format("- {}\n", line);
  return text + '\n';
}

std::vector<std::string> scaling_of(const ResultFile& file) {
  std::vector<std::string> lines = scaling_lines(file);
  for (std::string& line : lines) line = markdown_escaped(line);
  return lines;
}

std::vector<std::string> troubles_in(const ResultFile& file) {
  std::vector<std::string> lines;
  for (const Trouble& trouble : troubles_of(file.runs))
    lines.push_back(fmt::format("{}: {}: {}", name_of(trouble.status),
                                markdown_code(subject_of(trouble)),
                                markdown_escaped(trouble.reason)));
  return lines;
}

std::vector<std::string> warnings_in(const ResultFile& file) {
  std::vector<std::string> lines;
  for (const MergedWarning& warning : merged_warnings(file.runs)) {
    std::string line =
        fmt::format("{} ({} of {} runs): {}", markdown_escaped(warning.name), warning.runs,
                    file.runs.size(), markdown_escaped(warning.message));
    if (!warning.remedy.empty())
      line += fmt::format(". Remedy: {}", markdown_escaped(warning.remedy));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string generator_text(const GeneratorRecord& generator) {
  std::string text = fmt::format("{} {}", generator.name, generator.version);
  if (generator.git_commit) text += fmt::format(", commit {}", *generator.git_commit);
  if (generator.build_type) text += fmt::format(", {} build", *generator.build_type);
  return text;
}

std::string cpu_text(const CpuRecord& cpu) {
  std::string text = cpu.model.value_or("unknown");
  if (cpu.cores) text += fmt::format(", {} core{}", *cpu.cores, *cpu.cores == 1 ? "" : "s");
  return text;
}

std::string system_text(const HostRecord& host) {
  std::string text = host.os.value_or("");
  if (host.kernel) text += fmt::format("{}kernel {}", text.empty() ? "" : ", ", *host.kernel);
  return text;
}

std::string libraries_text(const EnvironmentRecord& environment) {
  std::vector<std::string> texts;
  for (const auto& [name, version] : environment.libraries)
    texts.push_back(fmt::format("{} {}", name, version));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> environment_of(const ResultFile& file) {
  const EnvironmentRecord& environment = file.environment;
  std::vector<std::string> lines;
  const auto add = [&lines](std::string_view name, const std::string& value) {
    if (!value.empty()) lines.push_back(fmt::format("{}: {}", name, markdown_escaped(value)));
  };
  add("program", generator_text(file.generator));
  add("measured", file.created);
  add("host", environment.host.name);
  add("CPU", cpu_text(environment.cpu));
  if (environment.memory_bytes) add("memory", format_bytes(*environment.memory_bytes));
  add("system", system_text(environment.host));
  add("libraries", libraries_text(environment));
  return lines;
}

/// Indented code, in which nothing means anything.
std::string command_of(const ResultFile& file) {
  if (file.command.empty()) return {};
  return fmt::format("**Command**\n\n    {}\n", shell_line(file.command));
}

}  // namespace

std::string to_markdown(const ResultFile& file) {
  std::string text =
      fmt::format("### ptbench: {} run{} on {}\n\n", file.runs.size(),
                  file.runs.size() == 1 ? "" : "s", markdown_escaped(file.environment.host.name));
  if (file.runs.empty())
    text += "Nothing was measured.\n\n";
  else
    text += fmt::format("**{}**\n\n", markdown_sentence(conclusion_of(file))) + runs_of(file);
  return text + section_of("Scaling", scaling_of(file)) +
         section_of("Not measured as asked", troubles_in(file)) +
         section_of("Warnings", warnings_in(file)) +
         section_of("Environment", environment_of(file)) + command_of(file);
}

}  // namespace ptbench

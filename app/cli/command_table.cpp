#include "app/cli/command_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/cli/argument_parser.h"
#include "app/cli/help.h"
#include "app/config/version.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "src/process/output_file.h"

namespace ptbench {

namespace {

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

/// An option stands where a command is expected.
[[noreturn]] void refuse_option(const std::string& word) {
  const std::string suggestion = did_you_mean(word, {"--help", "--version"});
  throw usage_error(
      fmt::format("expected a command, not '{}'", printable(word)),
      suggestion.empty() ? "ptbench --help lists the commands; options follow them" : suggestion);
}

}  // namespace

std::vector<Command> command_table() {
  std::vector<Command> commands{
      make_run_command(),        make_sweep_command(),  make_chart_command(),
      make_compare_command(),    make_gate_command(),   make_comm_command(),
      make_launch_command(),     make_export_command(), make_trace_merge_command(),
      make_list_command(),       make_doctor_command(), make_validate_command(),
      make_completions_command()};
  commands.push_back(make_help_command(names_of(commands)));
  return commands;
}

const Command& find_command(const std::vector<Command>& commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return *found;
  const std::string suggestion = did_you_mean(name, names_of(commands));
  throw usage_error(fmt::format("unknown command '{}'", printable(name)),
                    suggestion.empty() ? "ptbench --help lists the commands" : suggestion);
}

ExitCode dispatch(const std::vector<std::string>& command_line) {
  if (command_line.size() < 2) {
    (void)std::fputs(overview_text(command_table(), help_width(stderr)).c_str(), stderr);
    return ExitCode::usage;
  }
  const std::string& first = command_line[1];
  if (first == "--version" || first == "-V") {
    write_standard_output(version_text() + "\n");
    return ExitCode::ok;
  }
  const std::vector<Command> commands = command_table();
  if (first == "--help" || first == "-h") {
    write_standard_output(overview_text(commands, help_width(stdout)));
    return ExitCode::ok;
  }
  if (first.starts_with('-')) refuse_option(first);
  const Command& command = find_command(commands, first);
  const ParsedArguments parsed =
      parse_arguments(command.options, {command_line.begin() + 2, command_line.end()});
  if (parsed.help) {
    write_standard_output(command_text(command, help_width(stdout)));
    return ExitCode::ok;
  }
  return command.run(parsed.assignments, command_line);
}

}  // namespace ptbench

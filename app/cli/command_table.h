#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/exit_code.h"
#include "src/base/option_table.h"

namespace ptbench {

/// A command line that works, and what it is good for.
struct Example {
  std::string line;
  std::string purpose;
};

/// A row of the command table.
struct Command {
  std::string name;
  std::string summary;      ///< one line for `ptbench --help`
  std::string description;  ///< a paragraph for `ptbench NAME --help`; may be empty
  std::vector<Example> examples;
  std::vector<OptionInfo> options;
  /// `command_line` is argv, for the record.
  std::function<ExitCode(const std::vector<OptionAssignment>& assignments,
                         const std::vector<std::string>& command_line)>
      run;
};

/// Lets `command` take the options of `table` and call `body` with the configuration that they
/// make. A configuration with a member `command_line` gets argv, and one with a member
/// `assignments` what was assigned, by name.
template <class Config>
[[nodiscard]] Command with_options(Command command, OptionTable<Config> table,
                                   std::function<ExitCode(const Config&)> body) {
  command.options = table.infos();
  command.run = [table = std::move(table), body = std::move(body)](
                    const std::vector<OptionAssignment>& assignments,
                    const std::vector<std::string>& command_line) {
    Config config = table.configure(assignments);
    if constexpr (requires { config.command_line = command_line; })
      config.command_line = command_line;
    if constexpr (requires { config.assignments = std::vector<NamedAssignment>(); })
      config.assignments = named_assignments(table.infos(), assignments);
    return body(config);
  };
  return command;
}

/// All commands, in the order of the help. To add one: a file that makes its row, and a line here
/// and in command_table.cpp.
[[nodiscard]] std::vector<Command> command_table();

[[nodiscard]] Command make_run_command();
[[nodiscard]] Command make_sweep_command();
[[nodiscard]] Command make_chart_command();
[[nodiscard]] Command make_compare_command();
[[nodiscard]] Command make_gate_command();
[[nodiscard]] Command make_comm_command();
[[nodiscard]] Command make_launch_command();
[[nodiscard]] Command make_export_command();
[[nodiscard]] Command make_trace_merge_command();
[[nodiscard]] Command make_list_command();
[[nodiscard]] Command make_doctor_command();
[[nodiscard]] Command make_validate_command();
[[nodiscard]] Command make_completions_command();
/// `commands`: those that it can explain.
[[nodiscard]] Command make_help_command(std::vector<std::string> commands);

/// The row called `name`; a usage error with a suggestion if there is none.
[[nodiscard]] const Command& find_command(const std::vector<Command>& commands,
                                          std::string_view name);

/// Does what `command_line` (argv, the program's name first) says. Throws what goes wrong.
[[nodiscard]] ExitCode dispatch(const std::vector<std::string>& command_line);

}  // namespace ptbench

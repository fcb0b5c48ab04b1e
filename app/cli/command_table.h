#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command.h"

namespace ptbench {

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

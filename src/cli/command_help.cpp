#include <cstdio>

#include "reports/output_file.h"
#include "src/cli/command_table.h"
#include "src/cli/help.h"

namespace ptbench {
namespace {

struct HelpOptions {
  std::string command;  ///< empty: the overview
};

ExitCode print_help(const HelpOptions& options) {
  const std::vector<Command> commands = command_table();
  write_standard_output(
      options.command.empty()
          ? overview_text(commands, help_width(stdout))
          : command_text(find_command(commands, options.command), help_width(stdout)));
  return ExitCode::ok;
}

}  // namespace

Command make_help_command(std::vector<std::string> commands) {
  commands.emplace_back("help");
  return with_options<HelpOptions>(
      {.name = "help",
       .summary = "explain a command",
       .description = {},
       .examples = {{"ptbench help run", "the same as ptbench run --help"}},
       .options = {},
       .run = {}},
      OptionTable<HelpOptions>({choice_option({.name = "COMMAND",
                                               .group = "Arguments",
                                               .help = "the command; without it, all of them",
                                               .choices = std::move(commands),
                                               .argument = true},
                                              &HelpOptions::command)}),
      print_help);
}

}  // namespace ptbench

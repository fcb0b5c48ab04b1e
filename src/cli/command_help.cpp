#include <cstdio>

#include "reports/output_file.h"
#include "src/cli/command_table.h"
#include "src/cli/help.h"
#include "src/cli/man_page.h"

namespace ptbench {
namespace {

struct HelpOptions {
  std::string command;  ///< empty: the overview
  bool man = false;
};

ExitCode print_help(const HelpOptions& options) {
  const std::vector<Command> commands = command_table();
  if (options.man) {
    write_standard_output(man_page(commands));
    return ExitCode::ok;
  }
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
       .examples = {{"ptbench help run", "the same as ptbench run --help"},
                    {"ptbench help --man | man -l -",
                     "the manual page of a build that is not "
                     "installed"}}},
      OptionTable<HelpOptions>({choice_option({.name = "COMMAND",
                                               .group = "Arguments",
                                               .help = "the command; without it, all of them",
                                               .choices = std::move(commands),
                                               .argument = true},
                                              &HelpOptions::command),
                                flag_option({.name = "man",
                                             .group = "Format",
                                             .help = "the manual page of all commands, as roff",
                                             .excludes = {"COMMAND"}},
                                            &HelpOptions::man)}),
      print_help);
}

}  // namespace ptbench

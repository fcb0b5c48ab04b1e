#include "reports/output_file.h"
#include "src/cli/command_table.h"
#include "src/cli/completions.h"

namespace ptbench {
namespace {

struct CompletionOptions {
  std::string shell;
};

ExitCode print_completions(const CompletionOptions& options) {
  const std::vector<Command> commands = command_table();
  write_standard_output(options.shell == "bash"  ? bash_completions(commands)
                        : options.shell == "zsh" ? zsh_completions(commands)
                                                 : fish_completions(commands));
  return ExitCode::ok;
}

}  // namespace

Command make_completions_command() {
  return with_options<CompletionOptions>(
      {.name = "completions",
       .summary = "print a completion script for a shell",
       .description = "An installed ptbench brings its completions along; this is for builds that "
                      "are not installed.",
       .examples = {{"source <(ptbench completions bash)", "in ~/.bashrc"},
                    {"source <(ptbench completions zsh)", "in ~/.zshrc, after compinit"},
                    {"ptbench completions fish | source", "in ~/.config/fish/config.fish"}}},
      OptionTable<CompletionOptions>({choice_option({.name = "SHELL",
                                                     .group = "Arguments",
                                                     .help = "the shell",
                                                     .example = "bash",
                                                     .choices = {"bash", "zsh", "fish"},
                                                     .argument = true,
                                                     .required = true},
                                                    &CompletionOptions::shell)}),
      print_completions);
}

}  // namespace ptbench

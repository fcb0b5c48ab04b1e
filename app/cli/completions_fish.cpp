#include <fmt/format.h>

#include "app/cli/completions.h"

namespace ptbench {
namespace {

/// A single-quoted word of fish.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "'";
}

/// What to offer for a value: "-x -a 'mlp linear'", "-r -F".
std::string fish_offer(const OptionInfo& option) {
  if (!option.choices.empty())
    return fmt::format(" -x -a {}", in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
  if (option.hint == ValueHint::file) return " -r -F";
  if (option.hint == ValueHint::directory) return " -x -a '(__fish_complete_directories)'";
  return option.argument ? "" : " -x";
}

std::string line(const Command& command, const OptionInfo& option) {
  std::string text =
      fmt::format("complete -c ptbench -n '__fish_seen_subcommand_from {}'", command.name);
  if (!option.argument) {
    if (option.short_name != '\0') text += fmt::format(" -s {}", option.short_name);
    text += " -l " + option.name;
  }
  if (!option.is_flag()) text += fish_offer(option);
  return text + " -d " + in_quotes(option.help) + "\n";
}

}  // namespace

std::string fish_completions(const std::vector<Command>& commands) {
  std::string text =
      "# fish completion for ptbench; written by `ptbench completions fish`\n\n"
      "complete -c ptbench -f\n"
      "complete -c ptbench -s h -l help -d 'show help'\n"
      "complete -c ptbench -n __fish_use_subcommand -s V -l version -d 'show version'\n";
  for (const Command& command : commands)
    text += fmt::format("complete -c ptbench -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        in_quotes(command.summary));
  for (const Command& command : commands)
    for (const OptionInfo& option : command.options)
      if (!option.hidden) text += line(command, option);
  return text;
}

}  // namespace ptbench

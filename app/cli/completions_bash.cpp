#include <fmt/format.h>

#include "app/cli/completions.h"

namespace ptbench {
namespace {

/// "--batch-size -b --json".
std::string option_words(const Command& command) {
  std::string words = "--help -h";
  for (const OptionInfo& option : command.options) {
    if (option.argument || option.hidden) continue;
    words += " " + option.spelling();
    if (option.short_name != '\0') words += fmt::format(" -{}", option.short_name);
  }
  return words;
}

/// The statement that fills COMPREPLY for a value; empty where nothing can be offered.
std::string bash_offer(const OptionInfo& option) {
  if (!option.choices.empty())
    return fmt::format("_ptbench_words \"{}\"", fmt::join(option.choices, " "));
  if (option.hint == ValueHint::file) return "_ptbench_paths -f";
  if (option.hint == ValueHint::directory) return "_ptbench_paths -d";
  return ":";
}

/// "run:--batch-size | run:-b) …;;", what to offer after an option that takes a value.
std::string value_cases(const Command& command) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    if (option.argument || option.is_flag() || option.hidden) continue;
    std::string pattern = fmt::format("{}:{}", command.name, option.spelling());
    if (option.short_name != '\0')
      pattern += fmt::format(" | {}:-{}", command.name, option.short_name);
    text += fmt::format("    {}) {}; return ;;\n", pattern, bash_offer(option));
  }
  return text;
}

/// What to offer where neither an option nor its value stands: the command's arguments.
std::string argument_case(const Command& command) {
  for (const OptionInfo& option : command.options)
    if (option.argument) return fmt::format("    {}) {} ;;\n", command.name, bash_offer(option));
  return {};
}

// COMP_WORDS is split at "=" and ":" too: "--data=dir" comes as three words.
constexpr const char* kBashHead =
    R"(# bash completion for ptbench; written by `ptbench completions bash`

_ptbench_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_ptbench_paths() {
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
  compopt -o filenames 2>/dev/null
}

_ptbench() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $option == "=" ]]; then
    option=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";

}  // namespace

std::string bash_completions(const std::vector<Command>& commands) {
  std::string names;
  std::string values;
  std::string options;
  std::string arguments;
  for (const Command& command : commands) {
    names += command.name + " ";
    values += value_cases(command);
    options +=
        fmt::format("      {}) _ptbench_words \"{}\" ;;\n", command.name, option_words(command));
    arguments += argument_case(command);
  }
  std::string text = kBashHead;
  text += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    _ptbench_words \"{}--help --version\"\n"
      "    return\n  fi\n",
      names);
  text += "  case $command:$option in\n" + values + "  esac\n";
  text += "  if [[ $current == -* ]]; then\n    case $command in\n" + options +
          "    esac\n    return\n  fi\n";
  text += "  case $command in\n" + arguments + "  esac\n}\n\ncomplete -F _ptbench ptbench\n";
  return text;
}

}  // namespace ptbench

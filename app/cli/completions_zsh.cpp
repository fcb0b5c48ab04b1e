#include <fmt/format.h>

#include "app/cli/completions.h"

namespace ptbench {
namespace {

/// `text` inside single quotes, with `special` characters behind a backslash.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char letter : text) {
    if (special.find(letter) != std::string_view::npos) result += '\\';
    result += letter == '\'' ? "'\\'" : "";
    result += letter;
  }
  return result;
}

/// ":NAME:(mlp linear)", the last part of a specification of _arguments.
std::string action(const OptionInfo& option) {
  const std::string message = escaped(option.argument ? option.name : option.value, ":[]");
  if (!option.choices.empty())
    return fmt::format(":{}:({})", message, fmt::join(option.choices, " "));
  if (option.hint == ValueHint::file) return fmt::format(":{}:_files", message);
  if (option.hint == ValueHint::directory) return fmt::format(":{}:_files -/", message);
  return fmt::format(":{}: ", message);
}

/// The options that this one makes pointless, itself included unless it is repeatable.
std::string exclusions(const OptionInfo& option) {
  std::string names;
  if (!option.repeatable) {
    names += option.spelling();
    if (option.short_name != '\0') names += fmt::format(" -{}", option.short_name);
  }
  for (const std::string& other : option.excludes) names += (names.empty() ? "--" : " --") + other;
  return names.empty() ? "" : fmt::format("({})", names);
}

std::string specification(const OptionInfo& option) {
  if (option.argument)
    return fmt::format("      '{}{}' \\\n", option.repeatable ? "*" : "", action(option));
  const std::string prefix = option.repeatable ? "'*'" : fmt::format("'{}'", exclusions(option));
  const std::string end = option.is_flag() ? "" : "=";
  const std::string names = option.short_name == '\0'
                                ? fmt::format("{}{}", option.spelling(), end)
                                : fmt::format("{{-{}{},{}{}}}", option.short_name,
                                              option.is_flag() ? "" : "+", option.spelling(), end);
  return fmt::format("      {}{}'[{}]{}' \\\n", prefix, names, escaped(option.help, "[]"),
                     option.is_flag() ? "" : action(option));
}

std::string command_case(const Command& command) {
  std::string text = fmt::format("    {}) _arguments -s -S \\\n", command.name);
  for (const OptionInfo& option : command.options)
    if (!option.hidden) text += specification(option);
  return text + "      '(-h --help)'{-h,--help}'[show help]' ;;\n";
}

constexpr const char* kZshHead = R"(#compdef ptbench
# zsh completion for ptbench; written by `ptbench completions zsh`

_ptbench() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands
)";

// Autoloaded, the file is the function's body and is called at once; sourced, it registers it.
constexpr const char* kTail = R"(  esac
}

if [ "$funcstack[1]" = "_ptbench" ]; then
  _ptbench "$@"
else
  compdef _ptbench ptbench
fi
)";

}  // namespace

std::string zsh_completions(const std::vector<Command>& commands) {
  std::string text = kZshHead;
  text += "  commands=(\n";
  for (const Command& command : commands)
    text += fmt::format("    '{}:{}'\n", command.name, escaped(command.summary, ""));
  text +=
      "  )\n"
      "  _arguments -C '(- *)'{-h,--help}'[show help]' '(- *)'{-V,--version}'[show version]' \\\n"
      "    '1:command:->command' '*::argument:->argument' && return\n"
      "  if [[ $state == command ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[1] in\n";
  for (const Command& command : commands) text += command_case(command);
  return text + kTail;
}

}  // namespace ptbench

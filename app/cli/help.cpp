#include "app/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/named_files.h"
#include "reports/wrap.h"

namespace ptbench {
namespace {

constexpr std::size_t kWidestSpelling = 30;  // longer ones get a line of their own
constexpr char kKeptBlank = '\x1F';          // a blank at which no line is broken

/// "  -b, --batch-size B", "      --json", "  FILE".
std::string left_column(const OptionInfo& option) {
  if (option.argument) return "  " + option.name;
  std::string text =
      option.short_name == '\0' ? "      " : fmt::format("  -{}, ", option.short_name);
  text += option.spelling();
  if (!option.value.empty()) text += " " + option.value;
  return text;
}

/// "samples in one micro-batch (linear, mlp) [default: mlp]".
std::string right_column(const OptionInfo& option) {
  std::string text = option.help;
  const bool named_already = option.value.find('|') != std::string::npos;
  if (!option.choices.empty() && option.domain.empty() && !named_already)
    text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (option.fallback.empty()) return text;
  std::string fallback = fmt::format("[default: {}]", option.fallback);
  std::ranges::replace(fallback, ' ', kKeptBlank);
  return text + ' ' + fallback;
}

std::string entry(const std::string& left, std::string_view right, std::size_t indent,
                  std::size_t columns) {
  const bool fits = left.size() + 2 <= indent;
  std::string text = left;
  text += fits ? std::string(indent - left.size(), ' ') : "\n" + std::string(indent, ' ');
  text += wrapped(right, indent, columns) + "\n";
  std::ranges::replace(text, kKeptBlank, ' ');
  return text;
}

std::size_t column_for(const std::vector<OptionInfo>& options) {
  std::size_t widest = left_column({.name = "help", .short_name = 'h'}).size();
  for (const OptionInfo& option : options) {
    if (option.hidden) continue;
    const std::size_t size = left_column(option).size();
    if (size <= kWidestSpelling) widest = std::max(widest, size);
  }
  return widest + 2;
}

std::string examples_text(const std::vector<Example>& examples, std::size_t columns) {
  std::string text = "\nExamples:\n";
  for (const Example& example : examples)
    text += fmt::format("  {}\n      {}\n", example.line, wrapped(example.purpose, 6, columns));
  return text;
}

}  // namespace

std::vector<std::string> groups_of(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : options)
    if (!option.hidden && std::ranges::find(groups, option.group) == groups.end())
      groups.push_back(option.group);
  return groups;
}

std::string meaning_of(const OptionInfo& option) {
  if (!option.domain.empty()) return fmt::format("{}; {}", option.help, option.domain);
  if (option.choices.empty()) return option.help;
  return fmt::format("{}: {}", option.help, fmt::join(option.choices, ", "));
}

std::size_t help_width(std::FILE* stream) {
  return std::min(kHelpWidth, console_style(stream).columns);
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("ptbench {} [options]", command.name);
  for (const OptionInfo& option : command.options) {
    if (!option.argument) continue;
    const std::string name = option.name + (option.repeatable ? "..." : "");
    line += option.required ? " " + name : fmt::format(" [{}]", name);
  }
  return line;
}

std::string overview_text(const std::vector<Command>& commands, std::size_t columns) {
  constexpr std::size_t kColumn = 19;
  std::string text =
      wrapped(
          "ptbench measures which way of parallelising a training step is fastest on this machine.",
          0, columns) +
      "\n\nUsage: ptbench COMMAND [options]\n\nCommands:\n";
  for (const Command& command : commands)
    text += entry("  " + command.name, command.summary, kColumn, columns);
  text += "\nOptions:\n";
  text += entry("  -h, --help", "show this help", kColumn, columns);
  text += entry("  -V, --version", "show version, commit and build type", kColumn, columns);
  std::vector<Example> first_steps;
  for (const Command& command : commands)
    if (!command.examples.empty() && first_steps.size() < 4)
      first_steps.push_back(command.examples.front());
  text += examples_text(first_steps, columns);
  return text + "\nptbench COMMAND --help explains a command.\n";
}

std::string command_text(const Command& command, std::size_t columns) {
  std::string text = fmt::format("ptbench {}: {}\n", command.name, command.summary);
  if (!command.description.empty()) text += "\n" + wrapped(command.description, 0, columns) + "\n";
  text += fmt::format("\nUsage: {}\n", usage_line(command));
  if (!command.examples.empty()) text += examples_text(command.examples, columns);
  const std::size_t column = column_for(command.options);
  for (const std::string& group : groups_of(command.options)) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionInfo& option : command.options)
      if (option.group == group && !option.hidden)
        text += entry(left_column(option), right_column(option), column, columns);
  }
  text += "\nHelp:\n" + entry("  -h, --help", "show this help", column, columns);
  return text;
}

}  // namespace ptbench

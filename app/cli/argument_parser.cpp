#include "app/cli/argument_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"

namespace ptbench {
namespace {

constexpr const char* kHelpNames = "-h,--help";

/// "-b,--batch-size", as CLI11 wants it.
std::string parser_names(const OptionInfo& option) {
  if (option.short_name == '\0') return "--" + option.name;
  return fmt::format("-{},--{}", option.short_name, option.name);
}

void declare(CLI::App& app, const OptionInfo& option) {
  if (option.is_flag()) {
    app.add_flag(parser_names(option));
    return;
  }
  // Values are collected as they come: how often an option may be given is checked against the
  // table, with a message of its own. Extra arguments would make CLI11 split "[a,b]".
  app.add_option(parser_names(option))
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

[[noreturn]] void refuse_unknown(const std::vector<OptionInfo>& options, std::string_view word) {
  std::vector<std::string> names{"help"};
  for (const OptionInfo& option : options)
    if (!option.argument && !option.hidden) names.push_back(option.name);
  const std::string_view spelled = word.substr(0, word.find('='));
  // Without dashes, which every name has and which would count as letters that are right.
  const std::string_view name =
      spelled.substr(std::min(spelled.find_first_not_of('-'), spelled.size()));
  const std::string suggestion = nearest(name, names);
  throw usage_error(fmt::format("unknown option '{}'", printable(spelled)),
                    suggestion.empty() ? "--help lists the options"
                                       : fmt::format("did you mean '--{}'?", suggestion));
}

/// CLI11 takes the next word for the value of "--name=", whatever it is.
void refuse_empty_values(const std::vector<OptionInfo>& options, std::string_view word) {
  if (!word.starts_with("--") || !word.ends_with('=')) return;
  for (const OptionInfo& option : options)
    if (!option.argument && word.substr(0, word.size() - 1) == option.spelling())
      refuse_value(option, "");
}

/// CLI11 complains when words run out: the last one is an option whose value was forgotten.
[[noreturn]] void refuse_ending(const std::vector<OptionInfo>& options, std::string_view last,
                                std::string_view complaint) {
  for (const OptionInfo& option : options)
    if (!option.argument && (last == option.spelling() ||
                             (last.size() == 2 && last[0] == '-' && last[1] == option.short_name)))
      refuse_value(option, "");
  throw usage_error(printable(complaint), "--help shows the usage");
}

void collect_options(const CLI::App& app, const std::vector<OptionInfo>& options,
                     std::vector<OptionAssignment>& assignments) {
  for (std::size_t index = 0; index < options.size(); ++index) {
    const OptionInfo& option = options[index];
    if (option.argument) continue;
    for (const std::string& text : app.get_option("--" + option.name)->results()) {
      if (option.is_flag() && text != "true")
        throw usage_error(fmt::format("--{} takes no value", option.name), "write it without '='");
      // A value that was forgotten lets the next option slip into its place.
      if (!option.is_flag() && text.starts_with("--")) refuse_value(option, "");
      assignments.push_back({index, option.is_flag() ? std::string() : text});
    }
  }
}

void collect_arguments(const std::vector<std::string>& words,
                       const std::vector<OptionInfo>& options,
                       std::vector<OptionAssignment>& assignments) {
  auto place = std::ranges::find_if(options, &OptionInfo::argument);
  for (const std::string& word : words) {
    if (place == options.end())
      throw usage_error(fmt::format("unexpected argument '{}'", printable(word)),
                        "--help shows the usage");
    assignments.push_back({static_cast<std::size_t>(place - options.begin()), word});
    if (!place->repeatable)
      place = std::find_if(place + 1, options.end(),
                           [](const auto& option) { return option.argument; });
  }
}

}  // namespace

ParsedArguments parse_arguments(const std::vector<OptionInfo>& options,
                                const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  CLI::Option* help = app.add_flag(kHelpNames);
  for (const OptionInfo& option : options)
    if (!option.argument) declare(app, option);

  // What follows "--" is not for CLI11, which forgets where it stood.
  const auto end = std::ranges::find(arguments, "--");
  std::vector<std::string> words(arguments.begin(), end);
  for (const std::string& word : words) refuse_empty_values(options, word);
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes words from the back
  } catch (const CLI::Error& error) {
    refuse_ending(options, words.empty() ? "" : words.back(), error.what());
  }

  ParsedArguments parsed;
  parsed.help = help->count() > 0;
  if (parsed.help) return parsed;
  std::vector<std::string> rest = app.remaining();
  for (const std::string& word : rest)
    if (word.size() > 1 && word.starts_with('-')) refuse_unknown(options, word);
  if (end != arguments.end()) rest.insert(rest.end(), end + 1, arguments.end());
  collect_options(app, options, parsed.assignments);
  collect_arguments(rest, options, parsed.assignments);
  return parsed;
}

}  // namespace ptbench

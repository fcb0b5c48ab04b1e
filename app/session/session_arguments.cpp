#include "app/session/session_arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptbench {
namespace {

bool names_option(std::string_view argument, std::string_view option) {
  return argument == option ||
         (argument.starts_with(option) && argument.substr(option.size()).starts_with('='));
}

bool contains_option(const std::vector<std::string>& arguments, std::string_view option) {
  return std::ranges::any_of(
      arguments, [&](const std::string& argument) { return names_option(argument, option); });
}

}  // namespace

bool is_of_session(const OptionInfo& option) {
  switch (option.scope) {
    case OptionScope::task:
    case OptionScope::leading:
    case OptionScope::launch:
    case OptionScope::report:
    case OptionScope::repetitions: return true;
    default: return false;
  }
}

std::vector<std::string> arguments_of_preparation(const SessionSetup& setup,
                                                  const std::filesystem::path& own_plan) {
  std::vector<std::string> arguments = setup.arguments;
  arguments.emplace_back("--pass=prepare");
  if (setup.starts_program) return arguments;
  arguments.push_back(setup.plan_file && !setup.extends_plan ? "--plan=" + *setup.plan_file
                                                             : "--keep-plan=" + own_plan.string());
  return arguments;
}

std::vector<std::string> arguments_of_repetition(const SessionSetup& setup,
                                                 const std::filesystem::path& own_plan,
                                                 bool is_first, double seconds) {
  std::vector<std::string> arguments;
  for (const std::string& argument : setup.arguments)
    if (setup.starts_program || !names_option(argument, "--verify")) arguments.push_back(argument);
  if (is_first)
    arguments.insert(arguments.end(), setup.first_arguments.begin(), setup.first_arguments.end());
  arguments.emplace_back(is_first ? "--pass=first" : "--pass=next");
  if (!setup.starts_program) {
    arguments.push_back("--plan=" + setup.plan_file.value_or(own_plan.string()));
    arguments.emplace_back("--verify=off");
  }
  if (!is_of_fixed_length(setup)) {
    arguments.push_back(fmt::format("--max-time={}", seconds));
    arguments.push_back(fmt::format("--min-time={}", setup.least_seconds));
  }
  return arguments;
}

bool is_of_fixed_length(const SessionSetup& setup) {
  return contains_option(setup.arguments, "--steps") ||
         contains_option(setup.arguments, "--epochs");
}

}  // namespace ptbench

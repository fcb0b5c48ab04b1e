#include "src/base/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/number.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// A value that works when it is pasted: many defaults are told in words, "auto: as measured".
std::string example_of(const OptionInfo& option) {
  if (!option.example.empty()) return option.example;
  const bool is_choice = std::ranges::find(option.choices, option.fallback) != option.choices.end();
  return option.choices.empty() || is_choice ? option.fallback : option.choices.front();
}

std::string remedy_for(const OptionInfo& option) {
  const std::string value = example_of(option);
  if (value.empty()) return {};
  const std::string example = shell_word(value);
  if (option.argument) return fmt::format("for instance {}", example);
  return fmt::format("for instance {} {}", option.spelling(), example);
}

/// "4096", "10^12", "2^64 - 1": nobody counts zeros.
std::string limit_text(std::uint64_t limit) {
  if (limit == std::numeric_limits<std::uint64_t>::max()) return "2^64 - 1";
  int exponent = 0;
  std::uint64_t rest = limit;
  for (; rest % 10 == 0 && rest > 0; rest /= 10) ++exponent;
  return rest == 1 && exponent >= 6 ? fmt::format("10^{}", exponent) : fmt::format("{}", limit);
}

}  // namespace

std::string OptionInfo::spelling() const { return argument ? name : "--" + name; }

std::vector<NamedAssignment> named_assignments(const std::vector<OptionInfo>& options,
                                               const std::vector<OptionAssignment>& assignments) {
  std::vector<NamedAssignment> named;
  named.reserve(assignments.size());
  for (const OptionAssignment& assignment : assignments)
    named.push_back({options.at(assignment.option).name, assignment.text});
  return named;
}

void check_assignments(const std::vector<OptionInfo>& options,
                       const std::vector<OptionAssignment>& assignments) {
  std::vector<std::size_t> times(options.size());
  for (const OptionAssignment& assignment : assignments) ++times.at(assignment.option);
  const auto given = [&](const std::string& name) {
    for (std::size_t other = 0; other < options.size(); ++other)
      if (options[other].name == name && times[other] > 0) return true;
    return false;
  };
  for (std::size_t index = 0; index < options.size(); ++index) {
    const OptionInfo& option = options[index];
    if (times[index] == 0 && option.required)
      throw usage_error(fmt::format("{} is missing", option.spelling()), remedy_for(option));
    if (times[index] > 1 && !option.repeatable && !option.is_flag())
      throw usage_error(fmt::format("{} was given {} times", option.spelling(), times[index]),
                        "give it once");
    for (const std::string& other : option.excludes)
      if (times[index] > 0 && given(other))
        throw usage_error(fmt::format("--{} and --{} cannot be combined", option.name, other),
                          "give only one of them");
  }
}

void refuse_value(const OptionInfo& option, std::string_view text) {
  if (text.empty())
    throw usage_error(fmt::format("{} has no value", option.spelling()), remedy_for(option));
  const std::string value = printable(text);
  if (option.domain.empty()) {
    const std::string suggestion = did_you_mean(text, option.choices);
    throw usage_error(
        fmt::format("{} is '{}', not one of: {}", option.spelling(), value, join(option.choices)),
        suggestion.empty() ? remedy_for(option) : suggestion);
  }
  throw usage_error(fmt::format("{} is '{}', not {}", option.spelling(), value, option.domain),
                    remedy_for(option));
}

std::uint64_t whole_value(const OptionInfo& option, std::string_view text, std::uint64_t least,
                          std::uint64_t most) {
  const std::optional<std::uint64_t> value = parse_whole(text);
  if (!value || *value < least || *value > most) refuse_value(option, text);
  return *value;
}

double real_value(const OptionInfo& option, std::string_view text, double least, double most) {
  const std::optional<double> value = parse_real(text);
  if (!value || *value < least || *value > most) refuse_value(option, text);
  return *value;
}

std::string choice_value(const OptionInfo& option, std::string_view text) {
  if (std::ranges::find(option.choices, text) == option.choices.end()) refuse_value(option, text);
  return std::string(text);
}

std::string text_value(const OptionInfo& option, std::string_view text) {
  if (text.empty()) refuse_value(option, text);
  return std::string(text);
}

std::string whole_domain(std::uint64_t least, std::uint64_t most) {
  return fmt::format("a whole number from {} to {}", least, limit_text(most));
}

std::string real_domain(double least, double most) {
  const bool whole = most >= 1 && most < 1e15 && most == std::floor(most);
  return fmt::format(
      "a number from {:.15g} to {}", least,
      whole ? limit_text(static_cast<std::uint64_t>(most)) : fmt::format("{:.15g}", most));
}

std::string names_domain(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace ptbench

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// What a shell offers for a value that is not one of a few choices.
enum class ValueHint { none, file, directory };

/// What an option of a run, or of a comparison, is about: which of a run's processes are told, and
/// which commands have it.
enum class OptionScope : std::uint8_t {
  training,          ///< what is trained and how: every process is told
  replicas,          ///< the same, of use to several replicas only
  length,            ///< how many steps, or epochs: every process is told
  repetitions,       ///< how many processes measure, and where: the one that starts them
  budget,            ///< how long they may measure together: it is shared out among them
  plan,              ///< the file of operator choices: rank 0, and who starts repetitions
  training_files,    ///< written while training: rank 0 of the first repetition
  first_repetition,  ///< done beside measuring, by all ranks of the first repetition
  report,            ///< what becomes of the result: the process that makes it
  place,             ///< which rank a process is that somebody else started: this process alone
  task,              ///< which part of a run a process does, as its session says: all its ranks
  leading,           ///< what else a session says: rank 0
  launch,            ///< who started a rank, and what it inherits: this process alone
  judging,           ///< of a comparison: what its verdicts are
};

/// An option (or a positional argument) as parser, help, completions and documentation see it. All
/// of them are derived from this one declaration.
struct OptionInfo {
  std::string name;        ///< long name without dashes, "batch-size"; of an argument: "FILE"
  char short_name = '\0';  ///< 'b' for -b; '\0' for none
  std::string value;       ///< what stands for the value in help, "N"; empty: a flag, takes none
  std::string group;       ///< heading in help; empty: that of the option before it
  std::string help;        ///< one sentence without full stop
  std::string fallback;    ///< the default, as a person reads it; empty: none
  std::string example;     ///< a sensible value, for error messages; empty: `fallback`, or a choice
  std::string domain;      ///< what it takes, "a whole number from 1 to 64"; set by the row's maker
  std::vector<std::string> choices;   ///< values worth offering; all values if `domain` is empty
  std::vector<std::string> excludes;  ///< long names of options that make no sense beside it
  ValueHint hint = ValueHint::none;
  OptionScope scope = OptionScope::training;
  bool repeatable = false;
  bool argument = false;  ///< positional: given without its name
  bool required = false;
  bool grid = false;    ///< measured: part of a run's id, and of a sweep it takes a list
  bool hidden = false;  ///< for processes that ptbench starts: parsed, and shown nowhere

  [[nodiscard]] bool is_flag() const { return value.empty() && !argument; }
  /// As an error message calls it: "--batch-size", "FILE".
  [[nodiscard]] std::string spelling() const;
};

/// One value that the command line gives to an option: an index into the table, and the text.
struct OptionAssignment {
  std::size_t option = 0;
  std::string text;  ///< empty for flags
};

/// The same by the option's long name, which means something without the table.
struct NamedAssignment {
  std::string name;
  std::string text;  ///< empty for flags

  friend bool operator==(const NamedAssignment&, const NamedAssignment&) = default;
};

[[nodiscard]] std::vector<NamedAssignment> named_assignments(
    const std::vector<OptionInfo>& options, const std::vector<OptionAssignment>& assignments);

/// Throws a usage error when an option that is not repeatable was given twice, when options exclude
/// each other, or when a required one is missing.
void check_assignments(const std::vector<OptionInfo>& options,
                       const std::vector<OptionAssignment>& assignments);

/// Throws the usage error of an option whose text is none of its values; says which they are.
[[noreturn]] void refuse_value(const OptionInfo& option, std::string_view text);

/// `text` as a number in [least, most], or a usage error that names option, value and range.
[[nodiscard]] std::uint64_t whole_value(const OptionInfo& option, std::string_view text,
                                        std::uint64_t least, std::uint64_t most);
[[nodiscard]] double real_value(const OptionInfo& option, std::string_view text, double least,
                                double most);
/// `text` if it is one of the option's choices, or a usage error with a suggestion.
[[nodiscard]] std::string choice_value(const OptionInfo& option, std::string_view text);
/// `text` unless it is empty.
[[nodiscard]] std::string text_value(const OptionInfo& option, std::string_view text);

[[nodiscard]] std::string whole_domain(std::uint64_t least, std::uint64_t most);
[[nodiscard]] std::string real_domain(double least, double most);
/// "a, b or c".
[[nodiscard]] std::string names_domain(const std::vector<std::string>& names);

/// An option and how its text gets into a configuration. `set` throws a usage error for a text that
/// is not one of its values, and leaves the configuration as it was.
template <class Config>
struct OptionRow {
  OptionInfo info;
  std::function<void(Config&, const OptionInfo&, std::string_view)> set;
};

/// Field, or what an optional Field holds.
template <class Field>
struct UnwrapOptional {
  using type = Field;
};
template <class Value>
struct UnwrapOptional<std::optional<Value>> {
  using type = Value;
};
template <class Field>
using Unwrapped = typename UnwrapOptional<Field>::type;

/// A whole number in [least, most]; `Field` is an integer or an optional one.
template <class Config, class Field>
[[nodiscard]] OptionRow<Config> whole_option(OptionInfo info, Field Config::* field,
                                             std::uint64_t least, std::uint64_t most) {
  info.domain = whole_domain(least, most);
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            config.*field = static_cast<Unwrapped<Field>>(whole_value(option, text, least, most));
          }};
}

/// A finite number in [least, most].
template <class Config, class Field>
[[nodiscard]] OptionRow<Config> real_option(OptionInfo info, Field Config::* field, double least,
                                            double most) {
  info.domain = real_domain(least, most);
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            config.*field = real_value(option, text, least, most);
          }};
}

/// One of `info.choices`.
template <class Config, class Field>
[[nodiscard]] OptionRow<Config> choice_option(OptionInfo info, Field Config::* field) {
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            config.*field = choice_value(option, text);
          }};
}

/// "on" or "off".
template <class Config>
[[nodiscard]] OptionRow<Config> switch_option(OptionInfo info, bool Config::* field) {
  info.value = "on|off";
  info.choices = {"on", "off"};
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            config.*field = choice_value(option, text) == "on";
          }};
}

/// Any text but the empty one.
template <class Config, class Field>
[[nodiscard]] OptionRow<Config> text_option(OptionInfo info, Field Config::* field) {
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            config.*field = text_value(option, text);
          }};
}

/// Texts, none of them empty, in the order in which they were given.
template <class Config>
[[nodiscard]] OptionRow<Config> text_list_option(OptionInfo info,
                                                 std::vector<std::string> Config::* field) {
  info.repeatable = true;
  return {std::move(info), [=](Config& config, const OptionInfo& option, std::string_view text) {
            (config.*field).push_back(text_value(option, text));
          }};
}

/// True when given.
template <class Config>
[[nodiscard]] OptionRow<Config> flag_option(OptionInfo info, bool Config::* field) {
  return {std::move(info),
          [=](Config& config, const OptionInfo&, std::string_view) { config.*field = true; }};
}

/// The row of an option whose field is in a part of the configuration.
template <class Config, class Part>
[[nodiscard]] OptionRow<Config> option_of_part(Part Config::* part, OptionRow<Part> row) {
  return {std::move(row.info), [part, set = std::move(row.set)](
                                   Config& config, const OptionInfo& option,
                                   std::string_view text) { set(config.*part, option, text); }};
}

/// The options of one command, in the order of its help.
template <class Config>
class OptionTable {
 public:
  explicit OptionTable(std::vector<OptionRow<Config>> rows) : rows_(std::move(rows)) {
    for (std::size_t i = 1; i < rows_.size(); ++i)
      if (rows_[i].info.group.empty()) rows_[i].info.group = rows_[i - 1].info.group;
  }

  [[nodiscard]] const std::vector<OptionRow<Config>>& rows() const { return rows_; }

  [[nodiscard]] std::vector<OptionInfo> infos() const {
    std::vector<OptionInfo> infos;
    infos.reserve(rows_.size());
    for (const OptionRow<Config>& row : rows_) infos.push_back(row.info);
    return infos;
  }

  /// A configuration with its defaults, but for what was assigned. Throws a usage error for the
  /// first thing that is wrong.
  [[nodiscard]] Config configure(const std::vector<OptionAssignment>& assignments) const {
    check_assignments(infos(), assignments);
    Config config;
    for (const OptionAssignment& assignment : assignments) {
      const OptionRow<Config>& row = rows_.at(assignment.option);
      row.set(config, row.info, assignment.text);
    }
    return config;
  }

 private:
  std::vector<OptionRow<Config>> rows_;
};

}  // namespace ptbench

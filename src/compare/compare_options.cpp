#include "src/compare/compare_options.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/number.h"

namespace ptbench {
namespace {

using Row = OptionRow<CompareConfig>;
using Rows = std::vector<Row>;

constexpr const char* kUsage = "for instance ptbench compare base.json new.json";

void set_detect(CompareConfig& config, const OptionInfo& option, std::string_view text) {
  constexpr double kLeast = 0.001;
  constexpr double kMost = 1;
  const bool per_cent = text.ends_with('%');
  const std::optional<double> number =
      parse_real(per_cent ? text.substr(0, text.size() - 1) : text);
  const double share = number.value_or(0) / (per_cent ? 100 : 1);
  if (share < kLeast || share > kMost) refuse_value(option, text);
  config.comparison.detect = share;
}

void set_ignore_environment(CompareConfig& config, const OptionInfo& /*option*/,
                            std::string_view /*text*/) {
  config.comparison.ignore_environment = true;
}

void append_files(Rows& rows) {
  rows.push_back(text_list_option(
      {.name = "FILE",
       .group = "Arguments",
       .help = "BASE and NEW, each a result of run (.json) or a folder of results; with --history "
               "only NEW; with --self-check any number of results",
       .example = "base.json new.json",
       .hint = ValueHint::file,
       .argument = true},
      &CompareConfig::files));
  rows.push_back(text_list_option({.name = "base",
                                   .value = "FILE",
                                   .group = "Sides",
                                   .help = "a further result or folder of BASE; may be given "
                                           "several times",
                                   .example = "base2.json",
                                   .excludes = {"history", "self-check"},
                                   .hint = ValueHint::file},
                                  &CompareConfig::base_files));
  rows.push_back(text_list_option({.name = "new",
                                   .value = "FILE",
                                   .help = "a further result or folder of NEW; may be given "
                                           "several times",
                                   .example = "new2.json",
                                   .excludes = {"self-check"},
                                   .hint = ValueHint::file},
                                  &CompareConfig::new_files));
}

void append_verdicts(Rows& rows) {
  rows.push_back(Row{{.name = "detect",
                      .value = "D",
                      .group = "Verdicts",
                      .help = "the smallest change of a step time that matters",
                      .fallback = "5 %",
                      .example = "5%",
                      .domain = "a share from 0.001 to 1, or from 0.1% to 100%",
                      .scope = OptionScope::judging},
                     set_detect});
  rows.push_back(Row{{.name = "ignore-environment",
                      .help = "give verdicts also where the environments differ",
                      .excludes = {"self-check"},
                      .scope = OptionScope::judging},
                     set_ignore_environment});
  rows.push_back(flag_option({.name = "strict",
                              .help = "end with 4 where a verdict is ambiguous or missing",
                              .excludes = {"self-check"},
                              .scope = OptionScope::judging},
                             &CompareConfig::strict));
  rows.push_back(flag_option({.name = "self-check",
                              .help = "say how small a change this machine can detect, from "
                                      "repetitions of one configuration, and remember its noise"},
                             &CompareConfig::self_check));
}

void append_history(Rows& rows) {
  rows.push_back(text_option({.name = "history",
                              .value = "FILE.jsonl",
                              .group = "History",
                              .help = "compare with the last results in FILE, one a line, in place "
                                      "of BASE",
                              .example = "history.jsonl",
                              .excludes = {"self-check"},
                              .hint = ValueHint::file},
                             &CompareConfig::history));
  rows.push_back(
      whole_option({.name = "last",
                    .value = "N",
                    .help = "how many of the last comparable results form BASE, the window",
                    .fallback = "10",
                    .excludes = {"self-check"}},
                   &CompareConfig::last, 1, 10'000));
  rows.push_back(whole_option({.name = "anchor",
                               .value = "N",
                               .help = "how many of the first comparable results NEW is compared "
                                       "with as well, once there are more: finds slow creep",
                               .fallback = "3",
                               .excludes = {"self-check"}},
                              &CompareConfig::anchor, 3, 1000));
  rows.push_back(
      flag_option({.name = "append",
                   .help = "add NEW to the history after the comparison, unless a run is slower, "
                           "failed or missing; creates the history if there is none",
                   .excludes = {"self-check"}},
                  &CompareConfig::append));
  rows.push_back(flag_option({.name = "accept",
                              .help = "with --append: add NEW whatever its verdicts; later results "
                                      "are compared with what was accepted",
                              .excludes = {"self-check"}},
                             &CompareConfig::accept));
}

void append_output(Rows& rows) {
  rows.push_back(text_list_option({.name = "output",
                                   .short_name = 'o',
                                   .value = "FILE",
                                   .group = "Output",
                                   .help = "write the comparison: .md is Markdown, .json JSON, "
                                           ".xml JUnit, .html a page with charts, - JSON on "
                                           "standard output; may be given several times",
                                   .example = "comparison.md",
                                   .excludes = {"self-check"},
                                   .hint = ValueHint::file,
                                   .scope = OptionScope::report},
                                  &CompareConfig::outputs));
  rows.push_back(flag_option({.name = "json",
                              .help = "JSON on standard output, the table on standard error",
                              .scope = OptionScope::report},
                             &CompareConfig::json));
}

std::string count_text(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "was given" : "were given");
}

void append_all(std::vector<std::string>& files, const std::vector<std::string>& more) {
  files.insert(files.end(), more.begin(), more.end());
}

void require_history_name(const std::string& file) {
  if (!file.ends_with(".jsonl"))
    throw usage_error(fmt::format("--history '{}' does not end in .jsonl", printable(file)),
                      "name a file with one result a line, for instance history.jsonl");
}

/// Options that would do nothing.
void refuse_idle_options(const CompareConfig& config) {
  if (config.accept && !config.append)
    throw usage_error("--accept needs --append", "add --append, or leave --accept out");
  if (!config.history && (config.last || config.anchor || config.append))
    throw usage_error(fmt::format("--{} needs a history", config.append ? "append"
                                                          : config.last ? "last"
                                                                        : "anchor"),
                      "add --history FILE.jsonl");
}

ComparedSides new_side(const CompareConfig& config) {
  require_history_name(*config.history);
  if (config.files.size() > 1)
    throw usage_error(fmt::format("with --history only NEW is compared, but {} files were given",
                                  config.files.size()),
                      "add further files of NEW with --new");
  ComparedSides sides{.base = {}, .fresh = config.files};
  append_all(sides.fresh, config.new_files);
  if (sides.fresh.empty())
    throw usage_error("NEW is missing",
                      "for instance ptbench compare --history history.jsonl new.json");
  return sides;
}

}  // namespace

OptionTable<CompareConfig> compare_option_table() {
  Rows rows;
  append_files(rows);
  append_verdicts(rows);
  append_history(rows);
  append_output(rows);
  return OptionTable<CompareConfig>(std::move(rows));
}

ComparedSides sides_of(const CompareConfig& config) {
  refuse_idle_options(config);
  if (config.history) return new_side(config);
  ComparedSides sides;
  if (config.files.size() == 2) {
    sides = {.base = {config.files[0]}, .fresh = {config.files[1]}};
  } else if (!config.files.empty() || config.base_files.empty() || config.new_files.empty()) {
    throw usage_error(fmt::format("BASE and NEW are two files or folders, but {}",
                                  count_text(config.files.size())),
                      config.files.size() > 2 ? "add further files with --base and --new" : kUsage);
  }
  append_all(sides.base, config.base_files);
  append_all(sides.fresh, config.new_files);
  return sides;
}

}  // namespace ptbench

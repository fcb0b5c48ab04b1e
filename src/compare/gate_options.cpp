#include "src/compare/gate_options.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/config/run_options.h"
#include "src/judge/lockstep.h"

namespace ptbench {
namespace {

using GateRow = OptionRow<GateOptions>;

constexpr const char* kGate = "The gate";
constexpr std::uint64_t kMostPairs = 1000;

/// What says how long one run is, places its ranks, or names files that it writes.
bool is_left_out(const OptionInfo& option) {
  switch (option.scope) {
    case OptionScope::report:
    case OptionScope::repetitions:
    case OptionScope::budget:
    case OptionScope::length:
    case OptionScope::training_files:
    case OptionScope::first_repetition:
    case OptionScope::place: return true;
    default: return option.hidden || option.name == "program";
  }
}

/// Options of `compare` that a gate takes as they are.
bool is_judging(const OptionInfo& option) {
  return option.scope == OptionScope::judging || option.scope == OptionScope::report;
}

GateRow of_run(const OptionRow<RunOptions>& row) {
  return {row.info, [row](GateOptions& gate, const OptionInfo& option, std::string_view text) {
            row.set(gate.run, option, text);
            gate.measured.push_back({option.name, std::string(text)});
          }};
}

GateRow of_compare(const OptionRow<CompareConfig>& row) {
  OptionInfo info = row.info;
  info.excludes.clear();  // what a gate has not
  return {std::move(info), [row](GateOptions& gate, const OptionInfo& option,
                                 std::string_view text) { row.set(gate.judged, option, text); }};
}

OptionInfo build(const char* name, const char* help) {
  return {.name = name,
          .value = "PTBENCH",
          .group = kGate,
          .help = help,
          .example = "../old/ptbench",
          .excludes = {"base-program", "new-program"},
          .hint = ValueHint::file};
}

OptionInfo user_program(const char* name, const char* help) {
  return {.name = name,
          .value = "COMMAND",
          .group = kGate,
          .help = help,
          .example = "python3 old/train.py --batch {b}"};
}

std::vector<GateRow> own_rows() {
  return {
      text_option(build("base", "the build to compare with"), &GateOptions::base),
      text_option(build("new", "the build to judge"), &GateOptions::fresh),
      text_option(
          user_program("base-program",
                       "in place of builds: the program to compare with, as in run --program"),
          &GateOptions::base_program),
      text_option(user_program("new-program", "the program to judge"), &GateOptions::fresh_program),
      whole_option({.name = "max-pairs",
                    .value = "N",
                    .group = kGate,
                    .help = "measure at most N pairs of processes; it looks at them after 6, 8, "
                            "10, 14, 20, ... pairs, and only from 14 on with --detect below 2 %",
                    .fallback = "14 or 28"},
                   &GateOptions::max_pairs, static_cast<std::uint64_t>(kLeastPairs), kMostPairs),
      real_option({.name = "max-time",
                   .value = "S",
                   .help = "start no more pairs after S seconds",
                   .fallback = "300"},
                  &GateOptions::max_time_seconds, 1, 1e6),
      text_option({.name = "keep",
                   .value = "DIR",
                   .help = "keep the records of both sides, DIR/base.json and DIR/new.json",
                   .hint = ValueHint::file},
                  &GateOptions::keep)};
}

}  // namespace

void require_two_sides(const GateOptions& options) {
  const bool are_programs = options.base_program || options.fresh_program;
  const char* const missing = are_programs ? options.base_program ? "new-program" : "base-program"
                              : !options.base ? "base"
                                              : "new";
  const bool is_whole =
      are_programs ? options.base_program && options.fresh_program : options.base && options.fresh;
  if (!is_whole)
    throw usage_error(fmt::format("--{} is missing", missing),
                      "give --base and --new, or --base-program and --new-program");
}

OptionTable<GateOptions> gate_option_table() {
  std::vector<GateRow> rows = own_rows();
  const OptionTable<CompareConfig> compare = compare_option_table();
  for (const OptionRow<CompareConfig>& row : compare.rows())
    if (is_judging(row.info)) rows.push_back(of_compare(row));
  const OptionTable<RunOptions> run = run_option_table();
  for (const OptionRow<RunOptions>& row : run.rows())
    if (!is_left_out(row.info)) rows.push_back(of_run(row));
  return OptionTable<GateOptions>(std::move(rows));
}

}  // namespace ptbench

#include "src/session/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/config/run_options.h"
#include "src/session/rank_launcher.h"

namespace ptbench {
namespace {

using Row = OptionRow<SweepOptions>;

constexpr const char* kSweep = "The sweep";
constexpr std::uint64_t kMostRounds = 1000;

/// What every row would do again, over and over, what says how many processes one run has, and what
/// processes tell each other.
bool is_left_out(const OptionInfo& option) {
  switch (option.scope) {
    case OptionScope::training_files:
    case OptionScope::first_repetition:
    case OptionScope::repetitions:
    case OptionScope::place:
    case OptionScope::task:
    case OptionScope::leading:
    case OptionScope::launch: return true;
    case OptionScope::report: return option.hidden;
    default: return false;
  }
}

/// At least one part; "a,,b" has an empty one.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

void adapt(OptionInfo& info) {
  if (info.grid) info.value += ",...";
  if (info.name == "nproc") info.help += "; a strategy of one replica ignores it";
  if (info.name == "threads") info.fallback = "cores / largest nproc";
  if (info.name == "max-time")
    info.help =
        "seconds for each row, over all rounds, with starting and warming up; without --rounds, a "
        "round that would not fit does not begin; rounds that --binary adds come on "
        "top";
  if (info.name == "plan") info.help += ", with those of all rows; --resume adds what it lacks";
  if (info.name == "json") info.excludes.emplace_back("binary");
}

/// The row of `run` for a sweep.
Row adapted(const OptionRow<RunOptions>& row) {
  OptionInfo info = row.info;
  adapt(info);
  return {std::move(info), [row](SweepOptions& sweep, const OptionInfo&, std::string_view text) {
            const OptionInfo& option = row.info;
            SweepSetting setting{
                .option = option.name, .measured = option.grid, .values = {std::string(text)}};
            if (option.grid) {
              setting.values = parts_of(text);
              RunOptions tried;
              for (const std::string& value : setting.values) row.set(tried, option, value);
            } else {
              row.set(sweep.common, option, text);
            }
            sweep.settings.push_back(std::move(setting));
          }};
}

Row scaling_row() {
  return {{.name = "scaling",
           .value = "weak|strong|off",
           .group = kSweep,
           .help = "compare each row with serial, which is measured too: weak keeps the batch of a "
                   "replica, strong the global batch; off measures only what was asked for",
           .fallback = "weak with --nproc above 1, strong with --global-batch",
           .choices = {"weak", "strong", "off"}},
          [](SweepOptions& sweep, const OptionInfo& option, std::string_view text) {
            const std::string choice = choice_value(option, text);
            sweep.scaling_off = choice == "off";
            if (choice == name_of(ScalingMode::weak)) sweep.scaling = ScalingMode::weak;
            if (choice == name_of(ScalingMode::strong)) sweep.scaling = ScalingMode::strong;
          }};
}

Row launcher_row() {
  return {{.name = "launcher",
           .value = "COMMAND",
           .group = kSweep,
           .help = "start rows of several ranks with this shell command, in which {n} is the "
                   "number of ranks",
           .fallback = "ptbench starts them itself",
           .example = "mpirun -n {n}"},
          [](SweepOptions& sweep, const OptionInfo& option, std::string_view text) {
            if (text.find(kRanksMark) == std::string_view::npos)
              throw usage_error(
                  fmt::format("--{} '{}' does not say how many ranks it starts", option.name,
                              printable(text)),
                  fmt::format("write {} where that number goes: '{}'", kRanksMark, option.example));
            sweep.launcher = text;
          }};
}

std::vector<Row> own_rows() {
  return {
      scaling_row(), launcher_row(),
      whole_option({.name = "rounds",
                    .value = "R",
                    .group = kSweep,
                    .help = "processes for each row, which take turns with those of the other rows",
                    .fallback = "5, and 6 with several --binary",
                    .example = "5"},
                   &SweepOptions::rounds, 1, kMostRounds),
      flag_option({.name = "resume", .help = "continue the result file: measure what is missing"},
                  &SweepOptions::resume),
      text_list_option({.name = "binary",
                        .value = "FILE",
                        .help = "measure with this build of ptbench; may be given several times, "
                                "each time with its own --output",
                        .example = "../before/ptbench",
                        .hint = ValueHint::file},
                       &SweepOptions::binaries)};
}

}  // namespace

const SweepSetting* SweepOptions::find(std::string_view option) const {
  const auto found = std::ranges::find(settings, option, &SweepSetting::option);
  return found == settings.end() ? nullptr : &*found;
}

OptionTable<SweepOptions> sweep_option_table() {
  std::vector<Row> rows = own_rows();
  const OptionTable<RunOptions> run = run_option_table();
  for (const OptionRow<RunOptions>& row : run.rows())
    if (!is_left_out(row.info)) rows.push_back(adapted(row));
  return OptionTable<SweepOptions>(std::move(rows));
}

}  // namespace ptbench

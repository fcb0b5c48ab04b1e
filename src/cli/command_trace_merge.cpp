#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "reports/named_files.h"
#include "reports/output_file.h"
#include "reports/table.h"
#include "reports/trace_files.h"
#include "reports/trace_merge.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cli/command_table.h"

namespace ptbench {
namespace {

struct TraceMergeOptions {
  std::string folder;
  std::optional<std::string> output;
  bool json = false;
};

FieldValue cell(const std::optional<double>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

Table table_of(const std::vector<ClockOffset>& offsets) {
  Table table{
      .name = "clocks",
      .columns = {
          {.key = "rank", .heading = "rank", .unit = Unit::count, .is_right = true},
          {.key = "offset_seconds",
           .heading = "clock ahead by",
           .unit = Unit::seconds,
           .is_right = true},
          {.key = "how", .heading = "known from"},
          {.key = "estimate_seconds",
           .heading = "finishes later by",
           .unit = Unit::seconds,
           .is_right = true},
          {.key = "at_least_seconds",
           .heading = "at least",
           .unit = Unit::seconds,
           .is_right = true},
          {.key = "at_most_seconds", .heading = "at most", .unit = Unit::seconds, .is_right = true},
          {.key = "collectives", .heading = "collectives", .unit = Unit::count, .is_right = true}}};
  for (const ClockOffset& offset : offsets)
    table.rows.push_back({static_cast<std::int64_t>(offset.rank), offset.seconds,
                          std::string(offset.rank == 0    ? "reference"
                                      : offset.same_clock ? "one clock"
                                                          : "collectives"),
                          cell(offset.estimate), cell(offset.at_least), cell(offset.at_most),
                          static_cast<std::int64_t>(offset.collectives)});
  return table;
}

/// The result would overwrite what is read.
void refuse_own_file(const std::string& output, const std::vector<std::string>& read) {
  const std::string whole = whole_path(output);
  if (std::ranges::any_of(read, [&](const std::string& file) { return whole_path(file) == whole; }))
    throw usage_error(fmt::format("--output '{}' is a file that is read", printable(output)),
                      "name another file");
}

ExitCode merge(const TraceMergeOptions& options) {
  const std::vector<std::string> files = traces_in(options.folder);
  const std::string path = options.output.value_or(merged_path(options.folder));
  refuse_own_file(path, files);
  OutputFile output(path);
  std::vector<RankTrace> traces;
  traces.reserve(files.size());
  for (const std::string& file : files) traces.push_back(read_trace_file(file));
  const std::vector<ClockOffset> offsets = compare_clocks(traces);
  output.commit(merge_traces(traces, offsets));
  const Table table = table_of(offsets);
  write_standard_output(options.json ? tables_json({table}) : table_text(table));
  log_note(fmt::format("{} of {} in '{}': open it in https://ui.perfetto.dev",
                       traces.size() == 1 ? "the trace" : fmt::format("{} traces", traces.size()),
                       single_line(traces.front().run), single_line(path)));
  return ExitCode::ok;
}

}  // namespace

Command make_trace_merge_command() {
  return with_options<TraceMergeOptions>(
      {.name = "trace-merge",
       .summary = "put the ranks' traces of run --trace on one clock, in one file",
       .description = "Ranks on one machine share a clock. Clocks of different machines are "
                      "compared by collectives, which all ranks finish at nearly the same time: "
                      "the offset is the median over all collectives. No rank can finish a "
                      "collective before all have started it, which bounds the offset on both "
                      "sides. The table on standard output has a row for each rank.",
       .examples = {{"ptbench trace-merge trace", "writes trace-merged.json, for Perfetto"},
                    {"ptbench trace-merge trace -o all.json --json",
                     "the same as all.json, and the offsets as JSON"}}},
      OptionTable<TraceMergeOptions>(
          {text_option({.name = "DIR",
                        .group = "Arguments",
                        .help = "the folder that ptbench run --trace wrote",
                        .example = "trace",
                        .hint = ValueHint::directory,
                        .argument = true,
                        .required = true},
                       &TraceMergeOptions::folder),
           text_option({.name = "output",
                        .short_name = 'o',
                        .value = "FILE",
                        .group = "Options",
                        .help = "where to write",
                        .fallback = "DIR-merged.json, beside DIR",
                        .hint = ValueHint::file},
                       &TraceMergeOptions::output),
           flag_option({.name = "json", .help = "print the table as JSON"},
                       &TraceMergeOptions::json)}),
      merge);
}

}  // namespace ptbench

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "reports/json.h"
#include "reports/named_files.h"
#include "reports/output_file.h"
#include "reports/read_result.h"
#include "reports/sweep_text.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/rough_duration.h"
#include "src/cli/command_table.h"
#include "src/config/run_record.h"
#include "src/device/topology.h"
#include "src/measure/environment.h"
#include "src/session/expected_time.h"
#include "src/session/foreign_build.h"
#include "src/session/noise_store.h"
#include "src/session/outside_ranks.h"
#include "src/session/session_folder.h"
#include "src/session/session_tools.h"
#include "src/session/sweep.h"
#include "src/session/sweep_by_processes.h"
#include "src/session/sweep_files.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// One of this program, or one of each build.
std::size_t count_sides(const SweepOptions& options) {
  return std::max<std::size_t>(1, options.binaries.size());
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_json(const std::string& output) { return output.ends_with(".json"); }

void refuse_shared_files(const RunOptions& options) {
  std::vector<std::string> paths = options.outputs;
  if (options.plan_file) paths.push_back(*options.plan_file);
  refuse_files_named_twice(paths);
}

void require_programs(const SweepOptions& options) {
  if (options.binaries.empty()) return;
  const std::vector<std::string>& outputs = options.common.outputs;
  if (outputs.size() != options.binaries.size() || !std::ranges::all_of(outputs, is_json))
    throw usage_error(
        fmt::format(
            "--binary needs an --output FILE.json for each build, but there are {} for {} builds",
            std::ranges::count_if(outputs, is_json), options.binaries.size()),
        "give one --output FILE.json for each build, in the same order, and no others");
  for (const std::string& binary : options.binaries) require_ptbench("binary", binary);
}

/// Files that a build of the grid writes; empty only where standard output is all.
std::vector<std::string> files_of(const SweepOptions& options, std::size_t side) {
  if (!options.binaries.empty()) return {options.common.outputs.at(side)};
  std::vector<std::string> files = options.common.outputs;
  std::erase(files, "-");
  return files;
}

/// What --resume goes on from: nothing yet where there is no file.
std::optional<ResultFile> earlier_result(const std::vector<std::string>& files,
                                         const Topology& topology) {
  const auto json = std::ranges::find_if(files, is_json);
  if (json == files.end())
    throw usage_error("--resume needs a result file to continue", "add --output FILE.json");
  if (!exists(*json)) return {};
  ResultFile earlier = read_result_file(*json);
  const std::optional<std::string>& model = earlier.environment.cpu.model;
  if (model && *model != topology.cpu_model)
    throw usage_error(
        fmt::format("'{}' was measured on another CPU: {}", printable(*json), printable(*model)),
        "leave out --resume, or name another --output");
  return earlier;
}

SweepSide side_of(const SweepOptions& options, std::size_t side, const Topology& topology) {
  SweepSide result{.program = "/proc/self/exe",
                   .header = begin_result(options.command_line, topology),
                   .earlier = {}};
  if (!options.binaries.empty()) {
    result.program = fs::absolute(options.binaries[side]);
    result.header.generator = unknown_build();
  }
  if (options.resume) result.earlier = earlier_result(files_of(options, side), topology);
  if (result.earlier) {
    result.header = *result.earlier;
    result.header.runs.clear();
    result.header.command = options.command_line;
  }
  return result;
}

/// The tables, and JSON where that was asked for: then it takes standard output.
void print(const SweepOptions& options, const Sweep& sweep) {
  if (options.common.json ||
      std::ranges::find(options.common.outputs, "-") != options.common.outputs.end()) {
    const ResultFile result = sweep.result(0);
    fmt::print(stderr, "{}", sweep_console(result, console_style(stderr)));
    write_standard_output(to_json(result));
    return;
  }
  for (std::size_t side = 0; side < count_sides(options); ++side) {
    if (!options.binaries.empty())
      write_standard_output(
          fmt::format("{}{}:\n", side > 0 ? "\n" : "", printable(options.binaries[side])));
    write_standard_output(sweep_console(sweep.result(side), console_style(stdout)));
  }
}

/// Everything that can be refused was checked, and every file is open.
struct SweepWork {
  std::vector<SweepRow> rows;
  std::vector<SweepSide> sides;
  std::vector<SweepFiles> files;  ///< by side
};

SweepWork begin_work(const SweepOptions& options, const Topology& topology) {
  refuse_shared_files(options.common);
  require_programs(options);
  SweepWork work;
  work.rows = sweep_rows(options, topology);
  for (std::size_t side = 0; side < count_sides(options); ++side) {
    work.sides.push_back(side_of(options, side, topology));
    work.files.emplace_back(files_of(options, side));
  }
  return work;
}

/// A plan file that is absent is written for all rows; one that a sweep left half written goes on
/// with it. Without one, builds share plans in `folder`.
SweepLength length_of(const SweepOptions& options, const SessionFolder& folder) {
  const std::optional<std::string>& plan = options.common.plan_file;
  // Of six pairs in lockstep, one may be wild on either side.
  return {.rounds = options.rounds.value_or(count_sides(options) > 1 ? 6 : 5),
          .rounds_are_asked = options.rounds.has_value(),
          .min_time_seconds = options.common.min_time_seconds,
          .max_time_seconds = options.common.max_time_seconds,
          .is_fixed = options.common.steps || options.common.epochs,
          .lockstep = LockstepPlan(),
          .longest_stop = options.common.timeout(),
          .plan_file = plan,
          .extends_plan = plan && (options.resume || !exists(*plan)),
          .plan_folder =
              !plan && count_sides(options) > 1 ? std::optional(folder.path()) : std::nullopt};
}

/// "6 rows, about 2 minutes, plus the time to choose operators and verify".
std::string announcement_of(std::span<const SweepRow> rows, double seconds) {
  const auto count = std::ranges::count_if(rows, &SweepRow::is_possible);
  const bool are_prepared = std::ranges::any_of(
      rows, [](const SweepRow& row) { return row.is_possible() && row.needs_preparation; });
  return fmt::format("{} row{}, about {}{}", count, count == 1 ? "" : "s", rough_duration(seconds),
                     are_prepared ? ", plus the time to choose operators and verify" : "");
}

ExitCode sweep_command(const SweepOptions& options) {
  refuse_outside_ranks("sweep");
  SessionTools tools;
  const Topology topology = discover_topology();
  SweepWork work = begin_work(options, topology);
  const PriorNoise prior = NoiseStore().load(describe_environment(topology).host.name);
  const SessionSurroundings session_around = tools.around(prior);
  const SessionFolder folder;
  const SweepLength length = length_of(options, folder);
  const auto rounds = static_cast<double>(length.rounds);
  double before = 0;  // rounds that --resume goes on from
  const SweepSurroundings around = sweep_by_processes(
      session_around,
      [&](std::size_t side, const ResultFile& result) { work.files.at(side).save(result); },
      [&](double done) { return before < rounds ? (done - before) / (rounds - before) : 1.0; });
  const std::vector<SweepRow> rows = work.rows;
  Sweep sweep(std::move(work.rows), std::move(work.sides), length, around);
  before = sweep.rounds_done();
  const double seconds = (1 - before / rounds) * expected_seconds(rows, work.files.size(), length);
  tools.whole.begin(announcement_of(rows, seconds), seconds);
  sweep.run();
  tools.progress.clear();
  if (!sweep.refusal())
    for (std::size_t side = 0; side < work.files.size(); ++side)
      work.files[side].finish(sweep.result(side));
  print(options, sweep);
  if (const std::optional<Error> refusal = sweep.refusal()) throw Error(*refusal);
  return sweep.exit_code();
}

}  // namespace

Command make_sweep_command() {
  return with_options<SweepOptions>(
      {.name = "sweep",
       .summary = "measure a grid of configurations, interleaved, with scaling efficiency",
       .description =
           "Options that a measurement depends on take lists, separated by commas, which span a "
           "grid of rows. Every row is measured in several processes, which take turns with those "
           "of the other rows, so that drift of the machine affects all rows alike. Impossible "
           "rows are skipped with the reason, failed rows do not end the sweep, and files are "
           "saved as it goes. With --scaling, or with --nproc above 1, each row is compared with "
           "serial training under the same options: speedup, efficiency, and where the rest went.",
       .examples =
           {{"ptbench sweep -w linear,mlp -b 32,64,128 -o grid.json",
             "six configurations; Ctrl-C keeps what was measured, --resume continues"},
            {"ptbench sweep -w mlp -s ddp,ddp-flat -n 1,2 -o scaling.json",
             "weak scaling: how much faster two ranks are, and where the rest went"},
            {"ptbench sweep -s ddp -n 1,2,4 --scaling strong --global-batch 256",
             "the same work, shared by more ranks"},
            {"ptbench sweep -s serial,amp --threads 1,2 --rounds 3 -o grid.json -o grid.csv",
             "precision against threads, as a table for a spreadsheet too"},
            {"ptbench sweep -b 32,128 --binary old/ptbench -o old.json --binary new/ptbench -o "
             "new.json",
             "two builds side by side, for ptbench compare old.json new.json"}}},
      sweep_option_table(), sweep_command);
}

}  // namespace ptbench

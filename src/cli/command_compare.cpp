#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "reports/comparison_text.h"
#include "reports/named_files.h"
#include "reports/output_file.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/cli/command_table.h"
#include "src/compare/compare_history.h"
#include "src/compare/compare_options.h"
#include "src/compare/compared_files.h"
#include "src/compare/comparison_files.h"
#include "src/session/noise_store.h"

namespace ptbench {
namespace {

/// The files of both sides, folders taken apart. Nothing is read twice, and what is written is
/// nothing that is read.
ComparedSides files_of(const CompareConfig& config) {
  refuse_files_named_twice(config.outputs);
  ComparedSides sides = sides_of(config);
  sides = {.base = result_paths(sides.base), .fresh = result_paths(sides.fresh)};
  std::vector<std::string> read = sides.base;
  read.insert(read.end(), sides.fresh.begin(), sides.fresh.end());
  if (config.history) read.push_back(*config.history);
  const std::vector<std::string> named = read;
  for (std::string& path : read) path = whole_path(path);
  for (const std::string& output : config.outputs)
    if (output != "-" && std::ranges::find(read, whole_path(output)) != read.end())
      throw usage_error(fmt::format("--output '{}' is a file that is read", printable(output)),
                        "name another file");
  refuse_results_named_twice(named);
  return sides;
}

ExitCode compare_files(const CompareConfig& config, const ComparedSides& sides,
                       ComparisonFiles& files) {
  const std::vector<ResultFile> base = read_results(sides.base);
  const std::vector<ResultFile> fresh = read_results(sides.fresh);
  refuse_emulated_devices(base);
  refuse_emulated_devices(fresh);
  refuse_shared_records(sides, base, fresh);
  const PriorNoise prior = NoiseStore().load(fresh.front().environment.host.name);
  const Comparison comparison = compare(base, fresh, config.comparison, prior);
  const ExitCode code = exit_code_of(comparison, config.strict);
  if (code == ExitCode::usage) throw no_common_run(base, fresh);
  print_comparison(comparison, config);
  files.publish({.comparison = comparison, .base = base, .fresh = fresh});
  return code;
}

ExitCode compare_sides(const CompareConfig& config) {
  const ComparedSides sides = files_of(config);
  ComparisonFiles files(config.outputs);
  if (!config.history) return compare_files(config, sides, files);
  std::vector<ResultFile> fresh = read_results(sides.fresh);
  refuse_emulated_devices(fresh);
  const PriorNoise prior = NoiseStore().load(fresh.front().environment.host.name);
  return compare_with_history_file(config, std::move(fresh), prior, files);
}

/// "near 0.58 %, far 1.46 %".
std::string noise_text(const PriorNoise& noise) {
  std::string text;
  for (const auto& [placement, learnt] : noise.classes())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", single_line(placement),
                        format_percent(learnt.standard_deviation));
  return text;
}

void remember(const NoiseStore& store, const std::string& host, const PriorNoise& noise) {
  if (noise.classes().empty()) return;
  const std::string learnt = fmt::format("learnt for host '{}': run-to-run standard deviation {}",
                                         single_line(host), noise_text(noise));
  if (store.save(host, noise))
    log_note(fmt::format("{}; kept in {}", learnt, single_line(store.file().string())));
  else
    log_warning(fmt::format("{}; this is not kept, because '{}' cannot be written", learnt,
                            single_line(store.file().string())));
}

std::vector<ResultFile> self_check_files(const CompareConfig& config) {
  if (config.files.empty())
    throw usage_error("--self-check needs results",
                      "for instance ptbench compare --self-check results.json");
  const std::vector<std::string> paths = result_paths(config.files);
  refuse_results_named_twice(paths);
  std::vector<ResultFile> results = read_results(paths);
  refuse_emulated_devices(results);
  return results;
}

/// One host after the other: what is usual on one says nothing of another.
ExitCode check_results(const CompareConfig& config) {
  std::map<std::string, std::vector<ResultFile>> hosts;
  for (ResultFile& file : self_check_files(config))
    hosts[file.environment.host.name].push_back(std::move(file));

  const NoiseStore store;
  std::vector<SelfCheck> all;
  std::map<std::string, PriorNoise> learnt;
  for (const auto& [host, files] : hosts) {
    const std::vector<SelfCheck> checks = self_check(files, config.comparison, store.load(host));
    learnt.emplace(host, learn(checks));
    all.insert(all.end(), checks.begin(), checks.end());
  }
  if (all.empty())
    throw usage_error(
        "no run has 3 clean repetitions of one placement class, build and plan",
        "measure with --repeats 5 or more on a quiet machine, and without --slowdown");
  write_standard_output(config.json ? self_check_json(all)
                                    : self_check_console(all, console_style(stdout)));
  for (const auto& [host, noise] : learnt) remember(store, host, noise);
  return ExitCode::ok;
}

ExitCode compare_command(const CompareConfig& config) {
  return config.self_check ? check_results(config) : compare_sides(config);
}

}  // namespace

Command make_compare_command() {
  return with_options<CompareConfig>(
      {.name = "compare",
       .summary = "say whether results became slower; the exit code can gate CI",
       .description =
           "Compares runs of equal id by their repetitions, placement class by placement class, "
           "and gives each a verdict: same, faster, slower, or ambiguous with the reason. Several "
           "files of a side are pooled. Ends with 3 if a run is slower, failed, or missing in NEW; "
           "with --strict it ends with 4 where a verdict is ambiguous or missing.",
       .examples =
           {{"ptbench compare base.json new.json", "has it become slower?"},
            {"ptbench compare before/ after/ --detect 3% -o comparison.md",
             "pool the results in two folders, for a pull request"},
            {"ptbench compare --history history.jsonl --append new.json",
             "compare with the last ten results and the first three, and add this one unless it is "
             "worse"},
            {"ptbench compare --self-check results.json",
             "how small a change this machine can detect"}}},
      compare_option_table(), compare_command);
}

}  // namespace ptbench

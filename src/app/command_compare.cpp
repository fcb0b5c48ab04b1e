#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>

#include "reports/comparison_text.h"
#include "reports/output_file.h"
#include "src/app/command_table.h"
#include "src/app/compare_options.h"
#include "src/app/compared_files.h"
#include "src/app/named_files.h"
#include "src/app/noise_store.h"
#include "src/app/result_history.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/measure/history_window.h"
#include "src/measure/runs_by_id.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr Size kLastEntries = 10;

/// How a file with that extension is written.
struct ComparisonReporter {
  std::string_view extension;
  std::string (*write)(const Comparison&);
};

constexpr std::array kReporters{ComparisonReporter{".md", comparison_markdown},
                                ComparisonReporter{".json", comparison_json},
                                ComparisonReporter{".xml", comparison_junit}};

const ComparisonReporter& reporter_for(const std::string& output) {
  const auto* const reporter = std::ranges::find(kReporters, fs::path(output).extension().string(),
                                                 &ComparisonReporter::extension);
  if (reporter == kReporters.end())
    throw usage_error(
        fmt::format("--output '{}' ends in no known format", single_line(output)),
        "name a file that ends in .md, .json or .xml, or - for JSON on standard output");
  return *reporter;
}

/// The files that a comparison writes, opened before anything is read.
class ComparisonFiles {
 public:
  explicit ComparisonFiles(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs)
      if (output != "-")
        files_.push_back({&reporter_for(output), std::make_unique<OutputFile>(output)});
  }

  void publish(const Comparison& comparison) {
    for (const Report& report : files_) report.file->commit(report.reporter->write(comparison));
  }

 private:
  struct Report {
    const ComparisonReporter* reporter;
    std::unique_ptr<OutputFile> file;
  };

  std::vector<Report> files_;
};

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

/// "BASE has 'mlp/serial/n1/b64/fp32' and 2 more".
std::string contents_text(std::string_view side, std::span<const ResultFile> files) {
  std::size_t count = 0;
  std::string first;
  for (const ResultFile& file : files) {
    if (count == 0 && !file.runs.empty()) first = single_line(file.runs.front().id);
    count += file.runs.size();
  }
  if (count == 0) return fmt::format("{} has none", side);
  return fmt::format("{} has '{}'{}", side, first,
                     count == 1 ? "" : fmt::format(" and {} more", count - 1));
}

Error no_common_run(std::span<const ResultFile> base, std::span<const ResultFile> fresh) {
  const PriorNoise nothing;
  const RunsById base_runs(base, nothing);
  const RunsById new_runs(fresh, nothing);
  const bool in_both = std::ranges::any_of(base_runs.groups(), [&](const RunGroup& group) {
    return new_runs.find(group.run().id) != nullptr;
  });
  return usage_error(
      fmt::format("no run is in both{}: {}, {}", in_both ? " and was measured there" : "",
                  contents_text("BASE", base), contents_text("NEW", fresh)),
      "compare results of the same workload, strategy and options");
}

/// Results of several files as one: what is in several is pooled, the rest is the first one's.
ResultFile pooled(std::span<const ResultFile> files, const PriorNoise& prior) {
  const RunsById runs(files, prior);
  ResultFile result{.generator = files.front().generator,
                    .created = files.front().created,
                    .command = files.front().command,
                    .environment = files.front().environment,
                    .runs = {}};
  for (const RunGroup& group : runs.groups()) result.runs.push_back(group.run());
  return result;
}

/// Who measures again and again, each time with operators chosen anew, never gets a verdict.
void tell_unlike_plans(const Comparison& comparison) {
  const auto has_another_plan = [](const RunComparison& run) {
    return run.verdict == Verdict::incomparable &&
           std::ranges::any_of(run.differences, [](const std::string& difference) {
             return difference.starts_with("plan ");
           });
  };
  const Size unlike = std::ranges::count_if(comparison.runs, has_another_plan);
  if (unlike == 0 || !comparison.differences.empty()) return;  // no plan fits two machines
  log_warning(
      fmt::format("{} of {} runs got no verdict, as the two sides chose operators anew and "
                  "have unlike plans",
                  unlike, comparison.runs.size()));
  log_note(
      "remedy: measure both sides with one --plan FILE, which the first run writes, or judge them "
      "all the same with --ignore-environment");
}

void print(const Comparison& comparison, const CompareConfig& config) {
  const bool json = config.json || std::ranges::find(config.outputs, "-") != config.outputs.end();
  if (json) {
    fmt::print(stderr, "{}", comparison_console(comparison, console_style(stderr)));
    write_standard_output(comparison_json(comparison));
  } else {
    write_standard_output(comparison_console(comparison, console_style(stdout)));
  }
  tell_unlike_plans(comparison);
}

ExitCode compare_files(const CompareConfig& config, const ComparedSides& sides,
                       ComparisonFiles& files) {
  const std::vector<ResultFile> base = read_results(sides.base);
  const std::vector<ResultFile> fresh = read_results(sides.fresh);
  refuse_shared_records(sides, base, fresh);
  const PriorNoise prior = NoiseStore().load(fresh.front().environment.host.name);
  const Comparison comparison = compare(base, fresh, config.comparison, prior);
  const ExitCode code = exit_code_of(comparison, config.strict);
  if (code == ExitCode::usage) throw no_common_run(base, fresh);
  print(comparison, config);
  files.publish(comparison);
  return code;
}

/// Compares NEW with a history, and adds it.
class HistoryComparer {
 public:
  /// `config` and `prior` outlive the comparer; `fresh` is not empty.
  HistoryComparer(const CompareConfig& config, std::vector<ResultFile> fresh,
                  const PriorNoise& prior)
      : config_(config), prior_(prior), history_(*config.history), records_(std::move(fresh)) {
    // What several files are pooled to does not depend on the order in which they were given.
    std::ranges::sort(records_, {}, [](const ResultFile& file) {
      return std::tie(file.created, file.environment.host.name, file.command);
    });
    files_ = records_.size();
    added_ = records_;
    if (files_ > 1) {
      records_.push_back(pooled(records_, prior));
      if (history_.holds(std::span(records_).last(1))) added_.clear();
    }
    std::erase_if(added_, [&](const ResultFile& file) { return history_.holds({&file, 1}); });
  }

  [[nodiscard]] ExitCode operator()(ComparisonFiles& files) const {
    const HistoryWindow window = history_window(entries(), fresh(), config_.comparison, prior_);
    Comparison comparison = compare(window.entries, fresh(), config_.comparison, prior_);
    ExitCode code = exit_code_of(comparison, config_.strict);
    if (code == ExitCode::usage) {
      tell_all_new(window.entries, comparison);
      comparison = compare({}, fresh(), config_.comparison, prior_);
      code = ExitCode::ok;
    }
    add_left_out(window, comparison);
    print(comparison, config_);
    files.publish(comparison);
    if (has_known()) tell_known();
    if (config_.append && !added_.empty()) append_unless_worse(comparison);
    return code;
  }

 private:
  [[nodiscard]] std::span<const ResultFile> fresh() const {
    return std::span(records_).first(files_);
  }
  [[nodiscard]] bool has_known() const { return added_.size() < files_; }
  [[nodiscard]] std::string name() const { return single_line(history_.file().string()); }

  /// What there is of the history but NEW itself; nothing where --append may begin it.
  [[nodiscard]] std::vector<ResultFile> entries() const {
    std::vector<ResultFile> entries = history_.last(config_.last.value_or(kLastEntries), records_);
    if (entries.empty() && !config_.append)
      throw usage_error(fmt::format("history '{}' has no results{}", name(),
                                    has_known() ? " but NEW itself" : ""),
                        has_known()
                            ? "compare a result that is not in it"
                            : "--append adds NEW to it and begins it where it is not there");
    return entries;
  }

  /// Tells that the history has no run to compare NEW with. That is wrong usage, unless NEW is to
  /// be added and measured anything.
  void tell_all_new(std::span<const ResultFile> base, const Comparison& comparison) const {
    const bool has_new = std::ranges::find(comparison.runs, Verdict::added,
                                           &RunComparison::verdict) != comparison.runs.end();
    if (!config_.append || !has_new) throw no_common_run(base, fresh());
    if (!base.empty())
      log_note(fmt::format(
          "history '{}' has none of the runs of NEW: all of them are new, and nothing was compared",
          name()));
    else if (!has_known())
      log_note(fmt::format("history '{}' is begun: all runs are new", name()));
  }

  void tell_known() const {
    log_note(fmt::format("{} in history '{}' already: it was compared with the other entries{}",
                         added_.empty() ? "NEW is" : "a part of NEW is", name(),
                         config_.append ? ", and not added again" : ""));
  }

  /// A regression would be what later results are held against.
  void append_unless_worse(const Comparison& comparison) const {
    const Size worse =
        std::ranges::count_if(comparison.runs, is_regression, &RunComparison::verdict);
    if (worse == 0 || config_.accept) {
      history_.append(added_.size() == 1 ? added_.front() : pooled(added_, prior_));
      tell_unjudged(comparison);
      return;
    }
    log_warning(fmt::format(
        "NEW was not added to history '{}': {} of its runs {} slower, failed or missing; --accept "
        "adds it all the same, so that later results are compared with it",
        name(), worse, worse == 1 ? "is" : "are"));
  }

  /// What was added unjudged is what later results are held against.
  static void tell_unjudged(const Comparison& comparison) {
    const auto is_unlike = [](const RunComparison& run) {
      return run.verdict == Verdict::incomparable;
    };
    const auto first = std::ranges::find_if(comparison.runs, is_unlike);
    if (first == comparison.runs.end()) return;
    const std::string who = is_nothing_judged(comparison)
                                ? "nothing was judged"
                                : fmt::format("{} of {} runs were not judged",
                                              std::ranges::count_if(comparison.runs, is_unlike),
                                              comparison.runs.size());
    log_note(fmt::format("{}: {}; appended as the first entry of this environment", who,
                         single_line(first->reason)));
  }

  const CompareConfig& config_;
  const PriorNoise& prior_;
  ResultHistory history_;
  std::vector<ResultFile> records_;  ///< the files of NEW, and what they are pooled
  std::vector<ResultFile> added_;    ///< those files that the history has not
  std::size_t files_ = 0;
};

ExitCode compare_sides(const CompareConfig& config) {
  const ComparedSides sides = files_of(config);
  ComparisonFiles files(config.outputs);
  if (!config.history) return compare_files(config, sides, files);
  std::vector<ResultFile> fresh = read_results(sides.fresh);
  const PriorNoise prior = NoiseStore().load(fresh.front().environment.host.name);
  return HistoryComparer(config, std::move(fresh), prior)(files);
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
  const std::string learnt = fmt::format("learnt of host '{}': run-to-run standard deviation {}",
                                         single_line(host), noise_text(noise));
  if (store.save(host, noise))
    log_note(fmt::format("{}; kept in {}", learnt, single_line(store.file().string())));
  else
    log_warning(fmt::format("{}; '{}' cannot be written, so it is forgotten", learnt,
                            single_line(store.file().string())));
}

std::vector<ResultFile> self_check_files(const CompareConfig& config) {
  if (config.files.empty())
    throw usage_error("--self-check has no results to look at",
                      "for instance ptbench compare --self-check results.json");
  const std::vector<std::string> paths = result_paths(config.files);
  refuse_results_named_twice(paths);
  return read_results(paths);
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
    throw usage_error("no run has 3 clean repetitions of one placement class, build and plan",
                      "measure with --repeats 5 or more while nothing else runs, and without "
                      "--slowdown");
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
       .summary = "tell whether results became slower; the exit code gates CI",
       .description =
           "Compares runs of equal id by their repetitions, placement class by placement class, "
           "and gives each a verdict: same, faster, slower, or ambiguous with the reason. Several "
           "files of a side are pooled. Ends with 3 if a run is slower, failed, or missing in NEW; "
           "with --strict also with 4 where nothing can be said.",
       .examples = {{"ptbench compare base.json new.json", "has it become slower?"},
                    {"ptbench compare before/ after/ --detect 3% -o comparison.md",
                     "pool the results in two folders, for a pull request"},
                    {"ptbench compare --history history.jsonl --append new.json",
                     "compare with the last ten results, and add this one unless it is worse"},
                    {"ptbench compare --self-check results.json",
                     "what can be told apart on this machine"}},
       .options = {},
       .run = {}},
      compare_option_table(), compare_command);
}

}  // namespace ptbench

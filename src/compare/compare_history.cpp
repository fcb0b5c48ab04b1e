#include "src/compare/compare_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/compare/compared_files.h"
#include "src/compare/result_history.h"
#include "src/judge/history_comparison.h"
#include "src/judge/history_window.h"
#include "src/judge/runs_by_id.h"

namespace ptbench {
namespace {

/// Of a long history only the newest entries are read, and the anchor is among these.
constexpr Size kReadEntries = 1000;

/// Results of several files as one: what is in several is pooled, the rest is the first one's.
ResultFile pooled(std::span<const ResultFile> files, const PriorNoise& prior) {
  const RunsById runs(files, prior);
  ResultFile result{.generator = files.front().generator,
                    .created = files.front().created,
                    .command = files.front().command,
                    .environment = files.front().environment};
  for (const RunGroup& group : runs.groups()) result.runs.push_back(group.run());
  return result;
}

/// What later results are held against from here on, if it is accepted.
std::vector<std::string> slower_runs(const Comparison& comparison) {
  std::vector<std::string> ids;
  for (const RunComparison& run : comparison.runs)
    if (run.verdict == Verdict::slower) ids.push_back(run.id);
  return ids;
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
    const HistoryParts parts{.window = config_.last.value_or(HistoryParts().window),
                             .anchor = config_.anchor.value_or(HistoryParts().anchor)};
    const HistoryWindow window =
        history_window(entries(), fresh(), parts, config_.comparison, prior_);
    Comparison comparison = compare_with_history(window, fresh(), config_.comparison, prior_);
    ExitCode code = exit_code_of(comparison, config_.strict);
    if (code == ExitCode::usage) {
      tell_all_new(window.entries, comparison);
      comparison = compare({}, fresh(), config_.comparison, prior_);
      code = ExitCode::ok;
    }
    add_left_out(window, comparison);
    print_comparison(comparison, config_);
    files.publish({.comparison = comparison, .base = {}, .fresh = fresh()});
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
    const Size read = std::max(kReadEntries, config_.last.value_or(0));
    std::vector<ResultFile> entries = history_.last(read, records_);
    if (entries.empty() && !config_.append)
      throw usage_error(fmt::format("history '{}' has no results{}", name(),
                                    has_known() ? " except NEW itself" : ""),
                        has_known() ? "compare a result that is not in it"
                                    : "--append adds NEW to it, and creates it if there is none");
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
      log_note(fmt::format("history '{}' was created: all runs are new", name()));
  }

  void tell_known() const {
    log_note(fmt::format("{} already in history '{}': it was compared with the other entries{}",
                         added_.empty() ? "NEW is" : "a part of NEW is", name(),
                         config_.append ? ", and not added again" : ""));
  }

  /// A regression would be what later results are held against.
  void append_unless_worse(const Comparison& comparison) const {
    const Size worse =
        std::ranges::count_if(comparison.runs, is_regression, &RunComparison::verdict);
    if (worse == 0 || config_.accept) {
      ResultFile entry = added_.size() == 1 ? added_.front() : pooled(added_, prior_);
      entry.accepted = slower_runs(comparison);
      history_.append(entry);
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

}  // namespace

ExitCode compare_with_history_file(const CompareConfig& config, std::vector<ResultFile> fresh,
                                   const PriorNoise& prior, ComparisonFiles& files) {
  return HistoryComparer(config, std::move(fresh), prior)(files);
}

}  // namespace ptbench

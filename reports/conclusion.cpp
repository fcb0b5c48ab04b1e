#include "reports/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/run_words.h"
#include "src/base/text.h"
#include "src/judge/ranking.h"
#include "src/measure/interval_text.h"
#include "src/measure/reliability.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

using Runs = std::vector<const RunRecord*>;

/// Backticks within the name would end it.
std::string code(std::string_view name) {
  std::string text = single_line(name);
  std::ranges::replace(text, '`', '\'');
  return fmt::format("`{}`", text);
}

/// The runs of each workload, in the order in which they begin in the file.
std::vector<std::pair<std::string, Runs>> by_workload(const ResultFile& file) {
  std::vector<std::pair<std::string, Runs>> groups;
  for (const RunRecord& run : file.runs) {
    const std::string& name = run.workload.name;
    auto group = std::ranges::find(groups, name, &std::pair<std::string, Runs>::first);
    if (group == groups.end()) group = groups.emplace(groups.end(), name, Runs());
    group->second.push_back(&run);
  }
  return groups;
}

/// "serial", "serial in bf16 with 4 threads"; "serial on one core" beside serial on all of them.
std::string baseline_text(const RunRecord& baseline, bool is_beside_all_cores) {
  const StrategyRecord& strategy = baseline.strategy;
  std::string text = "serial";
  if (strategy.precision != "fp32") text += " in " + single_line(strategy.precision);
  const Size threads = strategy.threads.value_or(0);
  if (threads > 1) text += fmt::format(" with {} threads", threads);
  return threads == 1 && is_beside_all_cores ? text + " on one core" : text;
}

/// "serial on both cores".
std::string all_cores_text(const RunRecord& all_cores, const ResultFile& file) {
  const Size threads = all_cores.strategy.threads.value_or(0);
  if (threads == 0) return "serial on as many cores";
  if (file.environment.cpu.cores != threads) return fmt::format("serial on {} cores", threads);
  return threads == 2 ? "serial on both cores" : fmt::format("serial on all {} cores", threads);
}

std::string range_text(const Interval& interval) {
  return fmt::format("({:.2f} to {:.2f})", interval.low, interval.high);
}

/// What is said of the runs of one workload.
class WorkloadConclusion {
 public:
  /// Both outlive it.
  WorkloadConclusion(const ResultFile& file, const Runs& runs)
      : file_(file),
        ranking_(ranking_of(runs)),
        names_(names_of(ranking_.runs, {.cores = file.environment.cpu.cores, .quoted = code})),
        on_ranks_(fastest_on_ranks(ranking_)) {
    if (on_ranks_ == nullptr || !is_speedup_told(ranking_, *on_ranks_)) return;
    baseline_ = ranking_.find(on_ranks_->scaling->baseline);
    const RunRecord* const all = ranking_.find(on_ranks_->scaling->all_cores);
    if (can_be_ranked(all) && on_ranks_->scaling->efficiency_vs_all_cores_ci95) all_cores_ = all;
  }

  [[nodiscard]] std::string text() const {
    if (ranking_.runs.empty()) return "nothing was measured.";
    const FastestText fastest = fastest_text(ranking_, names_, !tells_lead_itself());
    std::string text = fastest.sentence;
    if (!fastest.beside.empty()) text += ' ' + fastest.beside;
    if (on_ranks_ == nullptr) return text;
    if (ranking_.fastest() == nullptr)
      return text + " Measure again while nothing else runs, or with more --rounds.";
    return text + ' ' + speedup_sentence();
  }

 private:
  /// The next after the fastest; null where noise does not tell them apart.
  [[nodiscard]] const RunRecord* next() const {
    return ranking_.compared > 1 && ranking_.rivals.empty() ? ranking_.runs[1] : nullptr;
  }

  /// Whether the sentence on several ranks has the fastest run's lead over the next.
  [[nodiscard]] bool tells_lead_itself() const {
    return next() != nullptr && ranking_.fastest() == on_ranks_ &&
           (next() == baseline_ || next() == all_cores_);
  }

  [[nodiscard]] std::string speedup_sentence() const {
    if (baseline_ == nullptr)
      return fmt::format(
          "How much faster several ranks are is not known: that takes {} clean repetitions of both "
          "a run and serial. Measure again while nothing else runs, or with more --rounds.",
          kLeastRepetitions);
    const RunRecord* const fastest = ranking_.fastest();
    const bool all_cores_win = fastest == all_cores_;
    const SpeedRatio ratio = speed_ratio(*on_ranks_, *baseline_);
    const std::string serial = baseline_text(*baseline_, all_cores_win);
    std::string text = tells_lead_itself() ? "It" : name_in(ranking_, names_, on_ranks_);
    text += ratio.is_told()
                ? " is " + times_text(ratio, serial)
                : fmt::format(" cannot be told from {} {}", serial, range_text(*ratio.interval));
    if (all_cores_ != nullptr && (!all_cores_win || next() != on_ranks_))
      text += all_cores_clause(ratio.is_told());
    return text + doubts_text() + '.';
  }

  /// "1.87 ± 0.03 times as fast as serial".
  static std::string times_text(const SpeedRatio& ratio, const std::string& other) {
    return fmt::format("{} times as fast as {}", ratio_with_interval(ratio.value, *ratio.interval),
                       other);
  }

  /// `follows_ratio`: after how many times as fast as serial the run is.
  [[nodiscard]] std::string all_cores_clause(bool follows_ratio) const {
    const SpeedRatio ratio = speed_ratio(*on_ranks_, *all_cores_);
    const std::string name = all_cores_text(*all_cores_, file_);
    if (ratio.is_told()) return (follows_ratio ? ", and " : ", and is ") + times_text(ratio, name);
    return fmt::format("{} {} {}", follows_ratio ? ", but cannot be told from" : ", nor from", name,
                       range_text(*ratio.interval));
  }

  /// Of both sides of the speedup, unless it was said of the fastest already.
  [[nodiscard]] std::string doubts_text() const {
    std::string text;
    for (const RunRecord* side : {on_ranks_, baseline_})
      if (const Reliability found = reliability_of(*side);
          side != ranking_.fastest() && !found.is_reliable())
        text += fmt::format("; {} is {}", name_in(ranking_, names_, side), text_of(found));
    return text;
  }

  const ResultFile& file_;
  Ranking ranking_;
  std::vector<std::string> names_;  ///< of the runs of the ranking
  const RunRecord* on_ranks_;       ///< the fastest on several ranks; null: there is none
  /// What it is held against; null: it cannot be.
  const RunRecord* baseline_ = nullptr;
  const RunRecord* all_cores_ = nullptr;
};

}  // namespace

std::string conclusion_of(const ResultFile& file) {
  const auto groups = by_workload(file);
  std::string text;
  for (const auto& [workload, runs] : groups) {
    const std::string said = WorkloadConclusion(file, runs).text();
    if (!text.empty()) text += ' ';
    text += groups.size() == 1 ? with_capital(said) : fmt::format("{}: {}", code(workload), said);
  }
  return text;
}

}  // namespace ptbench

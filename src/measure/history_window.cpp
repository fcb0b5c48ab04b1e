#include "src/measure/history_window.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "src/measure/environment_differences.h"
#include "src/measure/log_change.h"
#include "src/measure/runs_by_id.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

const RunRecord* find_run(const ResultFile& entry, const std::string& id) {
  const auto found = std::ranges::find(entry.runs, id, &RunRecord::id);
  return found == entry.runs.end() ? nullptr : &*found;
}

void add_differences(const std::vector<std::string>& differences, LeftOut& left_out) {
  for (const std::string& difference : differences)
    if (std::ranges::find(left_out.differences, difference) == left_out.differences.end())
      left_out.differences.push_back(difference);
}

/// Takes what `known` does not know from an older record.
void complete(EnvironmentRecord& known, const EnvironmentRecord& older) {
  const auto has_name = [](const DeviceRecord& device) { return device.name.has_value(); };
  if (!known.cpu.model) known.cpu.model = older.cpu.model;
  if (!known.cpu.cores) known.cpu.cores = older.cpu.cores;
  if (std::ranges::none_of(known.devices, has_name)) known.devices = older.devices;
  if (known.libraries.empty()) known.libraries = older.libraries;
}

template <class T>
void complete(std::optional<T>& known, const std::optional<T>& older) {
  if (!known) known = older;
}

void complete(RunRecord& known, const RunRecord& older) {
  complete(known.strategy.plan_hash, older.strategy.plan_hash);
  complete(known.strategy.threads, older.strategy.threads);
  if (known.strategy.devices.empty()) known.strategy.devices = older.strategy.devices;
  complete(known.workload.digest, older.workload.digest);
  complete(known.workload.parameters, older.workload.parameters);
  if (!known.optimizer.name) known.optimizer = older.optimizer;
}

/// Without what the measurement said of it.
RunRecord what_was_measured(const RunRecord& run) {
  RunRecord work;
  work.workload = run.workload;
  work.strategy = run.strategy;
  work.optimizer = run.optimizer;
  work.data = run.data;
  return work;
}

/// What a run's entries that count were measured in.
class Circumstances {
 public:
  /// Of an entry that has the run, measured or not.
  [[nodiscard]] std::vector<std::string> differences(const ResultFile& entry) const {
    if (!environment_) return {};
    return environment_differences({&entry, 1}, {&*environment_, 1});
  }

  /// Of the run, which was measured: its work, and its circumstances unless these are ignored.
  [[nodiscard]] std::vector<std::string> differences(const RunRecord& run,
                                                     bool ignore_circumstances) const {
    if (!run_) return {};
    std::vector<std::string> all = work_differences(std::array{&run}, std::array{&*run_});
    if (!ignore_circumstances)
      std::ranges::copy(run_differences(std::array{&run}, std::array{&*run_}),
                        std::back_inserter(all));
    return all;
  }

  void learn(const EnvironmentRecord& environment) {
    if (!environment_) environment_.emplace();
    complete(environment_->environment, environment);
  }

  void learn(const RunRecord& run) {
    if (!run_) run_ = what_was_measured(run);
    complete(*run_, run);
  }

 private:
  std::optional<ResultFile> environment_;  ///< nothing else of it is known
  std::optional<RunRecord> run_;           ///< as `what_was_measured` has it
};

/// Goes back in time through entries, and says what of them still counts.
class Window {
 public:
  /// Everything outlives the window.
  Window(const ResultFile& newest, std::span<const ResultFile> older, const CompareOptions& options,
         const PriorNoise& prior)
      : newest_(newest), options_(options), estimate_(prior) {
    succeeds_ = std::ranges::any_of(older, [&](const ResultFile& entry) {
      return std::ranges::any_of(
          entry.runs, [&](const RunRecord& run) { return find_run(newest, run.id) != nullptr; });
    });
  }

  /// Where an entry was measured as NEW was, such entries count, whatever came between: machines
  /// may take turns.
  void look_for(const ResultFile& fresh, std::span<const ResultFile> entries) {
    std::map<std::string, const RunRecord*> measured;
    for (const RunRecord& run : fresh.runs)
      if (was_measured(run)) measured.emplace(run.id, &run);
    for (const ResultFile& entry : entries) {
      if (!environment_differences({&entry, 1}, {&fresh, 1}).empty()) continue;
      for (const RunRecord& run : entry.runs) {
        const auto found = measured.find(run.id);
        if (found == measured.end() || !was_measured(run)) continue;
        Circumstances like;
        like.learn(*found->second);
        if (!like.differences(run, false).empty()) continue;
        Circumstances& circumstances = pools_[run.id].circumstances;
        circumstances.learn(fresh.environment);
        circumstances.learn(*found->second);
      }
    }
  }

  /// Drops the runs of an entry that do not count. To be called from the newest entry to the
  /// oldest.
  void cut(ResultFile& entry) {
    bool other_environment = false;
    std::erase_if(entry.runs, [&](const RunRecord& run) {
      Pool& pool = pools_[run.id];
      if (!pool.open || was_given_up(run.id)) return true;
      if (differs(pool, entry)) {
        other_environment = true;
        return true;
      }
      return !keeps(pool, run);
    });
    if (other_environment) ++left_out_.entries;
  }

  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }
  [[nodiscard]] const std::map<std::string, LeftOut>& runs_left_out() const {
    return runs_left_out_;
  }

 private:
  /// What was measured of a run since it last changed.
  struct Pool {
    LogTimes medians;
    LogTimes quartiles;         ///< of the same repetitions
    bool has_quartiles = true;  ///< of all of them
    Circumstances circumstances;
    bool open = true;  ///< until an entry does not belong to it
  };

  [[nodiscard]] bool was_given_up(const std::string& id) const {
    const RunRecord* const run = find_run(newest_, id);
    return succeeds_ && (run == nullptr || run->status == Status::skipped);
  }

  /// Whether an entry that has the run is of another environment.
  bool differs(Pool& pool, const ResultFile& entry) {
    if (options_.ignore_environment) return false;
    const std::vector<std::string> differences = pool.circumstances.differences(entry);
    add_differences(differences, left_out_);
    if (differences.empty()) pool.circumstances.learn(entry.environment);
    return !differences.empty();
  }

  bool differs(Pool& pool, const RunRecord& run) {
    const std::vector<std::string> differences =
        pool.circumstances.differences(run, options_.ignore_environment);
    if (differences.empty()) {
      pool.circumstances.learn(run);
      return false;
    }
    LeftOut& left_out = runs_left_out_[run.id];
    ++left_out.entries;
    add_differences(differences, left_out);
    return true;
  }

  bool keeps(Pool& pool, const RunRecord& run) {
    if (!was_measured(run)) return true;
    if (differs(pool, run)) return false;
    const LogTimes medians = clean_log_times(run.samples);
    const auto quartiles = quartile_times(run.samples);
    pool.has_quartiles = pool.has_quartiles && quartiles;
    if (const auto change = pool.has_quartiles ? estimate_(by_class(*quartiles), pool.quartiles)
                                               : estimate_(medians, pool.medians)) {
      const Verdict verdict = verdict_of(*change, options_.detect);
      pool.open = verdict != Verdict::slower && verdict != Verdict::faster;
    }
    if (!pool.open) return false;
    append(medians, pool.medians);
    if (pool.has_quartiles) append(by_class(*quartiles), pool.quartiles);
    return true;
  }

  const ResultFile& newest_;
  const CompareOptions& options_;
  ChangeEstimator estimate_;
  std::map<std::string, Pool> pools_;
  LeftOut left_out_;
  std::map<std::string, LeftOut> runs_left_out_;
  bool succeeds_ = false;  ///< whether the newest entry has runs that older ones have
};

}  // namespace

HistoryWindow history_window(std::vector<ResultFile> entries, std::span<const ResultFile> fresh,
                             const CompareOptions& options, const PriorNoise& prior) {
  const auto has_no_runs = [](const ResultFile& entry) { return entry.runs.empty(); };
  std::erase_if(entries, has_no_runs);
  if (entries.empty()) return {};
  const ResultFile newest = entries.back();
  Window window(newest, std::span(entries).first(entries.size() - 1), options, prior);
  for (const ResultFile& file : fresh) window.look_for(file, entries);
  for (ResultFile& entry : std::views::reverse(entries)) window.cut(entry);
  std::erase_if(entries, has_no_runs);
  return {.entries = std::move(entries),
          .left_out = window.left_out(),
          .runs_left_out = window.runs_left_out()};
}

void add_left_out(const HistoryWindow& window, Comparison& comparison) {
  if (window.left_out.entries > 0) comparison.left_out = window.left_out;
  for (RunComparison& run : comparison.runs)
    if (const auto found = window.runs_left_out.find(run.id); found != window.runs_left_out.end())
      run.left_out = found->second;
}

}  // namespace ptbench

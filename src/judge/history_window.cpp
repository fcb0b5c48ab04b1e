#include "src/judge/history_window.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "src/base/function_ref.h"
#include "src/judge/environment_differences.h"
#include "src/judge/runs_by_id.h"

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
  /// What an entry differs in that has the run, measured or not.
  [[nodiscard]] std::vector<std::string> differences(const ResultFile& entry) const {
    if (!environment_) return {};
    return environment_differences({&entry, 1}, {&*environment_, 1});
  }

  /// What the run, which was measured, differs in: its work, and its circumstances unless these are
  /// ignored.
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

/// Goes back in time through entries, and says what of them was measured as NEW is.
class LikeNew {
 public:
  /// Everything outlives it.
  LikeNew(const ResultFile& newest, std::span<const ResultFile> older,
          const CompareOptions& options)
      : newest_(newest), options_(options) {
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
        Circumstances& circumstances = circumstances_[run.id];
        circumstances.learn(fresh.environment);
        circumstances.learn(*found->second);
      }
    }
  }

  /// Drops the runs of an entry that were measured otherwise, or given up. To be called from the
  /// newest entry to the oldest.
  void cut(ResultFile& entry) {
    bool other_environment = false;
    std::erase_if(entry.runs, [&](const RunRecord& run) {
      if (was_given_up(run.id)) return true;
      Circumstances& circumstances = circumstances_[run.id];
      if (differs(circumstances, entry)) {
        other_environment = true;
        return true;
      }
      return was_measured(run) && differs(circumstances, run);
    });
    if (other_environment) ++left_out_.entries;
  }

  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }
  [[nodiscard]] const std::map<std::string, LeftOut>& runs_left_out() const {
    return runs_left_out_;
  }

 private:
  [[nodiscard]] bool was_given_up(const std::string& id) const {
    const RunRecord* const run = find_run(newest_, id);
    return succeeds_ && (run == nullptr || run->status == Status::skipped);
  }

  /// Whether an entry that has the run is of another environment.
  bool differs(Circumstances& circumstances, const ResultFile& entry) {
    if (options_.ignore_environment) return false;
    const std::vector<std::string> differences = circumstances.differences(entry);
    add_differences(differences, left_out_);
    if (differences.empty()) circumstances.learn(entry.environment);
    return !differences.empty();
  }

  bool differs(Circumstances& circumstances, const RunRecord& run) {
    const std::vector<std::string> differences =
        circumstances.differences(run, options_.ignore_environment);
    if (differences.empty()) {
      circumstances.learn(run);
      return false;
    }
    LeftOut& left_out = runs_left_out_[run.id];
    ++left_out.entries;
    add_differences(differences, left_out);
    return true;
  }

  const ResultFile& newest_;
  const CompareOptions& options_;
  std::map<std::string, Circumstances> circumstances_;  ///< of runs, by id
  LeftOut left_out_;
  std::map<std::string, LeftOut> runs_left_out_;
  bool succeeds_ = false;  ///< whether the newest entry has runs that older ones have
};

/// A run in the entries that were measured as NEW is.
struct Series {
  std::vector<std::size_t> entries;  ///< places of those that measured it, ascending
  std::vector<const RunRecord*> runs;
};

std::map<std::string, Series> series_of(std::span<const ResultFile> entries) {
  std::map<std::string, Series> all;
  for (std::size_t place = 0; place < entries.size(); ++place)
    for (const RunRecord& run : entries[place].runs)
      if (was_measured(run)) {
        all[run.id].entries.push_back(place);
        all[run.id].runs.push_back(&run);
      }
  return all;
}

std::vector<HistoryEntry> times_of(const std::string& id, const Series& series,
                                   std::span<const ResultFile> entries) {
  std::vector<const SamplesRecord*> samples;
  for (const RunRecord* run : series.runs) samples.push_back(&run->samples);
  const Statistic statistic = compared_by(samples).typical;
  std::vector<HistoryEntry> times;
  for (std::size_t at = 0; at < series.runs.size(); ++at) {
    const std::vector<std::string>& accepted = entries[series.entries[at]].accepted;
    times.push_back({.times = by_class(ptbench::times_of(*samples[at], statistic)),
                     .accepted = std::ranges::find(accepted, id) != accepted.end()});
  }
  return times;
}

/// In which entries each run counts, by id: places, ascending.
using Places = std::map<std::string, std::vector<std::size_t>>;

std::vector<std::size_t> places_in(const Series& series, const std::vector<std::size_t>& chosen) {
  std::vector<std::size_t> places;
  for (const std::size_t at : chosen) places.push_back(series.entries[at]);
  return places;
}

/// A copy of the entries with those runs only, and without entries that have none of them.
std::vector<ResultFile> part_of(std::span<const ResultFile> entries,
                                FunctionRef<bool(std::size_t place, const RunRecord& run)> keeps) {
  std::vector<ResultFile> part;
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const ResultFile& entry = entries[place];
    ResultFile copy{.generator = entry.generator,
                    .created = entry.created,
                    .command = entry.command,
                    .environment = entry.environment};
    for (const RunRecord& run : entry.runs)
      if (keeps(place, run)) copy.runs.push_back(run);
    if (!copy.runs.empty()) part.push_back(std::move(copy));
  }
  return part;
}

}  // namespace

HistoryWindow history_window(std::vector<ResultFile> entries, std::span<const ResultFile> fresh,
                             const HistoryParts& parts, const CompareOptions& options,
                             const PriorNoise& prior) {
  std::erase_if(entries, [](const ResultFile& entry) { return entry.runs.empty(); });
  if (entries.empty()) return {};
  const ResultFile newest = entries.back();
  LikeNew like_new(newest, std::span(entries).first(entries.size() - 1), options);
  for (const ResultFile& file : fresh) like_new.look_for(file, entries);
  for (ResultFile& entry : std::views::reverse(entries)) like_new.cut(entry);

  Places in_window;
  Places in_anchor;
  for (const auto& [id, series] : series_of(entries)) {
    const HistoryLevels levels =
        history_levels(times_of(id, series, entries), parts, options.detect, prior);
    in_window[id] = places_in(series, levels.window);
    in_anchor[id] = places_in(series, levels.anchor);
  }
  const auto is_among = [](const Places& places, const std::string& id, std::size_t place) {
    const auto found = places.find(id);
    return found != places.end() && std::ranges::binary_search(found->second, place);
  };
  // That a run failed or was skipped since is told too.
  const auto counts = [&](std::size_t place, const RunRecord& run) {
    if (was_measured(run)) return is_among(in_window, run.id, place);
    const auto measured = in_window.find(run.id);
    return measured == in_window.end() || measured->second.empty() ||
           place >= measured->second.front();
  };
  const auto is_anchor = [&](std::size_t place, const RunRecord& run) {
    return was_measured(run) && is_among(in_anchor, run.id, place);
  };
  return {.entries = part_of(entries, counts),
          .anchor = part_of(entries, is_anchor),
          .left_out = like_new.left_out(),
          .runs_left_out = like_new.runs_left_out()};
}

void add_left_out(const HistoryWindow& window, Comparison& comparison) {
  if (window.left_out.entries > 0) comparison.left_out = window.left_out;
  for (RunComparison& run : comparison.runs)
    if (const auto found = window.runs_left_out.find(run.id); found != window.runs_left_out.end())
      run.left_out = found->second;
}

}  // namespace ptbench

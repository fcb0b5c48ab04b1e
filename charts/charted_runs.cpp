#include "charts/charted_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "src/base/units.h"
#include "src/judge/id_options.h"
#include "src/measure/interval_text.h"

namespace ptbench {
namespace {

constexpr double kMuch = 16;

template <class Word>
bool differs(std::span<const ResultFile> files, const Word& word) {
  return std::ranges::any_of(
      files, [&](const ResultFile& file) { return word(file) != word(files.front()); });
}

void append_word(std::string& text, std::string_view word) {
  if (word.empty()) return;
  if (!text.empty()) text += ' ';
  text += word;
}

/// Whether two of the files, under these names, hold the same run.
bool hold_a_run_twice(std::span<const ResultFile> files, const std::vector<std::string>& names) {
  std::set<std::pair<std::string_view, std::string_view>> found;
  for (std::size_t at = 0; at < files.size(); ++at)
    for (const RunRecord& run : files[at].runs)
      if (!found.emplace(names[at], run.id).second) return true;
  return false;
}

/// By host and commit, as far as these differ.
std::vector<std::string> places_of(std::span<const ResultFile> files) {
  std::vector<std::string> names(files.size());
  const auto host_of = [](const ResultFile& file) { return file.environment.host.name; };
  const bool hosts = differs(files, host_of);
  const bool commits = differs(files, short_commit);
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (hosts) append_word(names[at], host_of(files[at]));
    if (commits) append_word(names[at], short_commit(files[at]));
  }
  return names;
}

std::vector<std::string> sources_of(const ChartSource& source) {
  const std::span<const ResultFile> files = source.results;
  if (files.size() < 2) return std::vector<std::string>(files.size());
  std::vector<std::string> names =
      source.sides.empty() ? places_of(files)
                           : std::vector<std::string>(source.sides.begin(), source.sides.end());
  if (hold_a_run_twice(files, names))
    for (std::size_t at = 0; at < files.size(); ++at) append_word(names[at], files[at].created);
  return names;
}

constexpr std::string_view kThreads = "threads";

/// The options in a run's id but for threads: "/overlap=off/data=a/b" is "overlap=off" and
/// "data=a/b".
std::vector<std::string> options_of(const RunRecord& run) {
  const std::string text = options_in_id(run);
  if (!text.starts_with('/')) return {};
  std::vector<std::string> options;
  std::size_t at = 0;
  while (at != std::string::npos) {
    const std::size_t next = text.find('/', at + 1);
    const std::string word = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (word.find('=') != std::string::npos || options.empty())
      options.push_back(word);
    else
      options.back() += '/' + word;
    at = next;
  }
  return options;
}

/// "vm, Some Maker CPU".
std::string machine_of(const ResultFile& file) {
  std::string machine = file.environment.host.name;
  const std::string model = file.environment.cpu.model.value_or("");
  if (!machine.empty() && !model.empty()) machine += ", ";
  return machine + model;
}

std::string key_text(const Traits& traits) {
  std::string text;
  for (const auto& [about, word] : traits) text += fmt::format("{}\x1E{}\x1F", about, word);
  return text;
}

/// Along an axis of ranks, strong scaling keeps the global batch.
void add_batch(Traits& traits, const RunRecord& run, Along along) {
  const bool is_strong =
      along == Along::ranks && run.scaling && run.scaling->mode == ScalingMode::strong;
  if (is_strong && run.strategy.global_batch)
    traits.emplace_back("batch", fmt::format("global batch {}", *run.strategy.global_batch));
  else if (run.strategy.batch_per_replica)
    traits.emplace_back("batch", fmt::format("batch {}", *run.strategy.batch_per_replica));
}

const std::string* word_about(const Traits& traits, const std::string& about) {
  const auto found =
      std::ranges::find(traits, about, [](const auto& trait) { return trait.first; });
  return found == traits.end() ? nullptr : &found->second;
}

bool all_have_one(std::span<const Traits> all, const std::string& about) {
  const std::string* const first = word_about(all.front(), about);
  return std::ranges::all_of(all, [&](const Traits& traits) {
    const std::string* const word = word_about(traits, about);
    return (word == nullptr) == (first == nullptr) && (word == nullptr || *word == *first);
  });
}

/// The word about it that more than half have; empty where there is none.
std::string word_of_most(std::span<const Traits> all, const std::string& about) {
  std::map<std::string, std::size_t> counts;
  for (const Traits& traits : all)
    if (const std::string* const word = word_about(traits, about))
      if (2 * ++counts[*word] > all.size()) return *word;
  return {};
}

std::vector<std::string> subjects_of(std::span<const Traits> all) {
  std::vector<std::string> subjects;
  for (const Traits& traits : all)
    for (const auto& [about, word] : traits)
      if (std::ranges::find(subjects, about) == subjects.end()) subjects.push_back(about);
  return subjects;
}

}  // namespace

std::string short_commit(const ResultFile& file) {
  constexpr std::size_t kLetters = 7;
  return file.generator.git_commit.value_or("").substr(0, kLetters);
}

std::vector<ChartedRun> measured_runs(const ChartSource& source) {
  const std::span<const ResultFile> results = source.results;
  const std::vector<std::string> sources = sources_of(source);
  std::vector<ChartedRun> runs;
  for (std::size_t at = 0; at < results.size(); ++at)
    for (const RunRecord& run : results[at].runs)
      if (has_throughput(run))
        runs.push_back({.run = &run,
                        .file = &results[at],
                        .reliability = reliability_of(run),
                        .source = sources[at]});
  return runs;
}

std::vector<std::vector<ChartedRun>> grouped(
    std::span<const ChartedRun> runs, const std::function<std::string(const ChartedRun&)>& key) {
  std::vector<std::vector<ChartedRun>> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const ChartedRun& run : runs) {
    const auto [place, is_new] = places.emplace(key(run), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(run);
  }
  return groups;
}

Traits traits_of(const ChartedRun& charted, Along along) {
  const RunRecord& run = *charted.run;
  Traits traits{{"strategy", run.strategy.name}};
  if (along != Along::ranks)
    traits.emplace_back("ranks", fmt::format("n={}", run.strategy.world_size));
  if (along != Along::batch) add_batch(traits, run, along);
  // An id has the threads only where they are not those that the ranks leave to each.
  if (run.strategy.threads)
    traits.emplace_back(kThreads, fmt::format("{}={}", kThreads, *run.strategy.threads));
  for (std::string& option : options_of(run)) {
    std::string about = option.substr(0, option.find('='));
    traits.emplace_back(std::move(about), std::move(option));
  }
  const std::string engine = run.engine.name.value_or("native");
  if (engine != "native") traits.emplace_back("engine", engine);
  if (!charted.source.empty()) traits.emplace_back("source", charted.source);
  return traits;
}

std::string key_of(const ChartedRun& charted, Along along) {
  return key_text(traits_of(charted, along));
}

std::string thing_of(const ChartedRun& charted) {
  Traits traits = traits_of(charted, Along::ranks);
  std::erase_if(
      traits, [](const auto& trait) { return trait.first == "batch" || trait.first == kThreads; });
  return key_text(traits);
}

std::vector<std::string> names_of(std::span<const Traits> all) {
  std::vector<std::string> names(all.size());
  if (all.empty()) return names;
  std::vector<std::string> told = subjects_of(all);
  std::erase_if(told, [&](const std::string& about) {
    return about != all.front().front().first && all_have_one(all, about);
  });
  const std::string usual_threads = word_of_most(all, std::string(kThreads));
  for (std::size_t at = 0; at < all.size(); ++at)
    for (const std::string& about : told)
      if (const std::string* const word = word_about(all[at], about))
        if (about != kThreads || *word != usual_threads)
          names[at] += (names[at].empty() ? "" : ", ") + *word;
  return names;
}

std::vector<RunSeries> series_of(std::span<const ChartedRun> runs, Along along) {
  std::vector<std::vector<ChartedRun>> groups =
      grouped(runs, [&](const ChartedRun& run) { return key_of(run, along); });
  std::vector<Traits> traits;
  traits.reserve(groups.size());
  for (const auto& group : groups) traits.push_back(traits_of(group.front(), along));
  const std::vector<std::string> names = names_of(traits);
  std::vector<RunSeries> series;
  for (std::size_t at = 0; at < groups.size(); ++at)
    series.push_back(
        {.name = names[at], .thing = thing_of(groups[at].front()), .runs = std::move(groups[at])});
  return series;
}

std::string subject_of(const RunRecord& run) {
  return fmt::format("{} in {}", run.workload.name, run.strategy.precision);
}

std::vector<ChartedRun> by_ranks(std::vector<ChartedRun> runs) {
  std::multimap<Size, ChartedRun> sorted;
  for (ChartedRun& run : runs) sorted.emplace(run.run->strategy.world_size, std::move(run));
  runs.clear();
  for (auto& [ranks, run] : sorted) runs.push_back(std::move(run));
  return runs;
}

std::string basis_of(std::span<const ChartedRun> runs) {
  if (runs.empty()) return {};
  const auto clean = [](const ChartedRun& run) { return run.reliability.clean; };
  const auto [fewest, most] = std::ranges::minmax(runs, {}, clean);
  std::string text = clean(fewest) == clean(most)
                         ? fmt::format("{}", clean(most))
                         : fmt::format("{} to {}", clean(fewest), clean(most));
  text += clean(most) == 1 ? " clean repetition each" : " clean repetitions each";
  std::set<std::string> machines;
  for (const ChartedRun& run : runs) machines.insert(machine_of(*run.file));
  if (machines.size() > 1) return fmt::format("{}; {} machines", text, machines.size());
  return machines.begin()->empty() ? text : text + "; " + *machines.begin();
}

std::string note_of(const ChartedRun& charted) {
  const RunRecord& run = *charted.run;
  std::string text = rate_with_interval(*run.throughput.value, run.throughput.ci95, "samples/s");
  const Reliability& found = charted.reliability;
  if (found.repetitions > 0) text += ", " + clean_repetitions_of(found);
  if (run.status == Status::interrupted) text += ", interrupted";
  return text;
}

bool spans_much(double low, double high) { return low > 0 && high / low >= kMuch; }

}  // namespace ptbench

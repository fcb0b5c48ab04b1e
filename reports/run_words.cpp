#include "reports/run_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "src/base/units.h"
#include "src/measure/interval_text.h"
#include "src/measure/reliability.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

constexpr std::string_view kSerial = "serial";

std::string quoted(std::string_view name, const NameStyle& style) {
  return style.quoted != nullptr && name != kSerial ? style.quoted(name) : std::string(name);
}

/// Whether serial training has all cores of a machine that has several.
bool has_all_cores(const RunRecord& run, const NameStyle& style) {
  return run.strategy.name == kSerial && style.cores.value_or(0) > 1 &&
         run.strategy.threads == style.cores;
}

std::string strategy_words(const RunRecord& run, const NameStyle& style) {
  std::string name = quoted(run.strategy.name, style);
  if (const Size ranks = run.strategy.world_size; ranks > 1)
    return fmt::format("{} on {} ranks", name, ranks);
  if (!has_all_cores(run, style)) return name;
  return *style.cores == 2 ? name + " on both cores"
                           : fmt::format("{} on all {} cores", name, *style.cores);
}

std::string threads_words(const RunRecord& run) {
  const Size threads = run.strategy.threads.value_or(0);
  return threads > 0 ? fmt::format("{} thread{}", threads, threads == 1 ? "" : "s") : "";
}

std::string batch_words(const RunRecord& run) {
  return run.strategy.batch_per_replica ? fmt::format("batch {}", *run.strategy.batch_per_replica)
                                        : "";
}

std::string precision_words(const RunRecord& run) { return run.strategy.precision; }

std::string engine_words(const RunRecord& run) { return run.engine.name.value_or("native"); }

constexpr std::array kQualities{precision_words, batch_words, threads_words, engine_words};

/// The values that runs of one name have of each quality.
using Qualities = std::array<std::set<std::string>, kQualities.size()>;

/// With those qualities in which any of the runs that are called `name` differs from another.
std::string qualified(const std::string& name, const RunRecord& run, const Qualities& alike) {
  std::string qualities;
  for (std::size_t at = 0; at < kQualities.size(); ++at) {
    const std::string own = kQualities[at](run);
    if (alike[at].size() > 1 && !own.empty()) qualities += (qualities.empty() ? "" : ", ") + own;
  }
  return qualities.empty() ? name : fmt::format("{} ({})", name, qualities);
}

/// "17.0 k samples/s ± 0.9 %", or with what is the matter with it.
std::string speed_with_doubt(const RunRecord& run) {
  const Reliability found = reliability_of(run);
  return found.is_reliable() ? throughput_words(run)
                             : fmt::format("{} ({})", speed_text(run), text_of(found));
}

std::string unranked_sentence(const Ranking& ranking, std::span<const std::string> names) {
  const RunRecord& first = *ranking.runs.front();
  const std::string speed = speed_text(first);
  const std::string doubt = text_of(reliability_of(first));
  if (ranking.runs.size() == 1)
    return fmt::format("{} trains {}, but this is {}.", names.front(), speed, doubt);
  return fmt::format(
      "Which run is the fastest cannot be said: none of {} has {} clean repetitions. The highest "
      "throughput, {} by {}, is {}.",
      ranking.runs.size(), kLeastRepetitions, speed, names.front(), doubt);
}

std::string next_text(const Ranking& ranking, std::span<const std::string> names) {
  const SpeedRatio ratio = speed_ratio(*ranking.runs[0], *ranking.runs[1]);
  return fmt::format("{} times as fast as the next, {}",
                     ratio_with_interval(ratio.value, *ratio.interval), names[1]);
}

std::string sentence_on(const Ranking& ranking, std::span<const std::string> names,
                        bool names_next) {
  if (ranking.compared == 0) return unranked_sentence(ranking, names);
  const std::string& name = names.front();
  const std::string speed = speed_with_doubt(*ranking.runs.front());
  const std::size_t all = ranking.runs.size();
  if (all == 1) return fmt::format("{} trains {}.", name, speed);
  if (ranking.compared == 1)
    return fmt::format("{} trains {}; no other run has {} clean repetitions.", name, speed,
                       kLeastRepetitions);
  if (!ranking.rivals.empty())
    return fmt::format("{} is the fastest of {} runs, but within the noise of {}: {}.", name, all,
                       rivals_text(ranking, names), speed);
  const std::string next = names_next ? ", " + next_text(ranking, names) : "";
  return fmt::format("{} is the fastest of {} runs: {}{}.", name, all, speed, next);
}

/// A run that measured more than the first, but cannot be compared.
std::string doubtful_sentence(const Ranking& ranking, std::span<const std::string> names) {
  if (ranking.compared == 0 || ranking.compared == ranking.runs.size()) return {};
  const RunRecord& doubtful = *ranking.runs[ranking.compared];
  if (*doubtful.throughput.value <= *ranking.runs.front()->throughput.value) return {};
  return fmt::format("A higher throughput, {} by {}, is {}.", speed_text(doubtful),
                     names[ranking.compared], text_of(reliability_of(doubtful)));
}

}  // namespace

const std::string& name_in(const Ranking& ranking, std::span<const std::string> names,
                           const RunRecord* run) {
  const auto place = std::ranges::find(ranking.runs, run);
  return names[static_cast<std::size_t>(place - ranking.runs.begin())];
}

std::string rivals_text(const Ranking& ranking, std::span<const std::string> names) {
  const std::string& first = name_in(ranking, names, ranking.rivals.front());
  const std::size_t more = ranking.rivals.size() - 1;
  return more == 0 ? first : fmt::format("{} and {} more", first, more);
}

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string speed_text(const RunRecord& run) {
  return format_si(run.throughput.value.value_or(0)) + " samples/s";
}

std::string throughput_words(const RunRecord& run) {
  return rate_with_interval(run.throughput.value.value_or(0), run.throughput.ci95, "samples/s");
}

std::vector<std::string> names_of(std::span<const RunRecord* const> runs, const NameStyle& style) {
  std::map<std::string, Qualities> alike;
  for (const RunRecord* run : runs)
    for (std::size_t at = 0; at < kQualities.size(); ++at)
      alike[strategy_words(*run, style)][at].insert(kQualities[at](*run));
  std::vector<std::string> names;
  std::map<std::string, Size> taken;
  for (const RunRecord* run : runs) {
    const std::string name = strategy_words(*run, style);
    names.push_back(qualified(name, *run, alike[name]));
    ++taken[names.back()];
  }
  for (std::size_t at = 0; at < names.size(); ++at)
    if (taken[names[at]] > 1) names[at] = quoted(runs[at]->id, style);
  return names;
}

FastestText fastest_text(const Ranking& ranking, std::span<const std::string> names,
                         bool names_next) {
  return {.sentence = sentence_on(ranking, names, names_next),
          .beside = doubtful_sentence(ranking, names)};
}

}  // namespace ptbench

#include "reports/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/scaling_text.h"
#include "src/base/text.h"
#include "src/base/units.h"
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

bool is_faster(const RunRecord* one, const RunRecord* other) {
  return one->throughput.value < other->throughput.value;
}

// Of several ranks

bool is_scaled(const RunRecord& run) {
  return run.scaling && run.scaling->speedup && run.strategy.world_size > 1;
}

/// Whether a ratio of the run and the one of that id may be claimed.
bool is_told(const ResultFile& file, const RunRecord& run, const std::optional<std::string>& other,
             const std::optional<Interval>& interval) {
  return interval && fewest_clean(run, find_run(file, other)) >= kLeastRepetitions;
}

bool has_told_speedup(const ResultFile& file, const RunRecord& run) {
  return is_scaled(run) && is_told(file, run, run.scaling->baseline, run.scaling->efficiency_ci95);
}

/// "1.87 ± 0.03": as many decimals as the half width's first digit has, two at least.
std::string ratio_text(double ratio, const Interval& interval, double factor) {
  constexpr double kMostDecimals = 4;
  const double half = factor * (interval.high - interval.low) / 2;
  const double decimals =
      half > 0 ? std::clamp(std::ceil(-std::log10(half)), 2.0, kMostDecimals) : 2.0;
  return fmt::format("{0:.{2}f} ± {1:.{2}f}", ratio, half, static_cast<int>(decimals));
}

/// "`ddp` on 2 ranks", with the id where others of the workload are called so too.
std::string subject_of(const RunRecord& run, const Runs& runs) {
  const auto alike = std::ranges::count_if(runs, [&](const RunRecord* other) {
    return is_scaled(*other) && other->strategy.name == run.strategy.name &&
           other->strategy.world_size == run.strategy.world_size;
  });
  const std::string name = code(run.strategy.name);
  const std::string ranks = fmt::format("on {} ranks", run.strategy.world_size);
  return alike == 1 ? fmt::format("{} {}", name, ranks)
                    : fmt::format("{} {} ({})", name, ranks, code(run.id));
}

/// "serial", "serial in bf16 with 4 threads".
std::string baseline_text(const RunRecord* baseline) {
  std::string text = "serial";
  if (baseline == nullptr) return text;
  const StrategyRecord& strategy = baseline->strategy;
  if (strategy.precision != "fp32") text += " in " + single_line(strategy.precision);
  if (strategy.threads.value_or(1) > 1) text += fmt::format(" with {} threads", *strategy.threads);
  return text;
}

/// "serial on both cores".
std::string all_cores_name(const ResultFile& file, const RunRecord* all_cores) {
  const Size threads = all_cores != nullptr ? all_cores->strategy.threads.value_or(0) : 0;
  if (threads == 0) return "serial on as many cores";
  if (file.environment.cpu.cores != threads) return fmt::format("serial on {} cores", threads);
  return threads == 2 ? "serial on both cores" : fmt::format("serial on all {} cores", threads);
}

std::string speedup_sentence(const ResultFile& file, const RunRecord& run, const Runs& runs) {
  const ScalingRecord& scaling = *run.scaling;
  std::string text = fmt::format("{} is {} times as fast as {}", subject_of(run, runs),
                                 ratio_text(*scaling.speedup, *scaling.efficiency_ci95,
                                            static_cast<double>(run.strategy.world_size)),
                                 baseline_text(find_run(file, scaling.baseline)));
  const auto& interval = scaling.efficiency_vs_all_cores_ci95;
  if (scaling.efficiency_vs_all_cores && is_told(file, run, scaling.all_cores, interval))
    text += fmt::format(", and {} times as fast as {}",
                        ratio_text(*scaling.efficiency_vs_all_cores, *interval, 1),
                        all_cores_name(file, find_run(file, scaling.all_cores)));
  return text + '.';
}

std::string scaling_sentence(const ResultFile& file, const Runs& runs) {
  const RunRecord* fastest = nullptr;
  for (const RunRecord* run : runs)
    if (has_told_speedup(file, *run) && (fastest == nullptr || is_faster(fastest, run)))
      fastest = run;
  if (fastest != nullptr) return speedup_sentence(file, *fastest, runs);
  return fmt::format(
      "nothing reliable can be said of several ranks: that takes {} clean repetitions of a run and "
      "of serial; measure again while nothing else runs, or with more --rounds.",
      kLeastRepetitions);
}

// Of runs without ranks

/// Whether noise does not tell that `run` is slower than `fastest`, which has an interval.
bool may_be_as_fast(const RunRecord& run, const RunRecord& fastest) {
  const auto& interval = run.throughput.ci95;
  const double most = interval ? interval->high : run.throughput.value.value_or(0);
  return reliability_of(run).trust != Trust::not_measured && most >= fastest.throughput.ci95->low;
}

std::string unreliable_sentence(const Runs& measured) {
  const RunRecord& best = **std::ranges::max_element(measured, is_faster);
  if (measured.size() == 1)
    return fmt::format("{} is {}.", code(best.id), text_of(reliability_of(best)));
  return fmt::format("no run can be relied on; the fastest, {}, is {}.", code(best.id),
                     text_of(reliability_of(best)));
}

std::string fastest_sentence(const Runs& runs) {
  Runs measured;
  Runs reliable;
  for (const RunRecord* run : runs) {
    const Reliability found = reliability_of(*run);
    if (found.trust != Trust::not_measured) measured.push_back(run);
    if (found.is_reliable()) reliable.push_back(run);
  }
  if (measured.empty()) return "nothing was measured.";
  if (reliable.empty()) return unreliable_sentence(measured);
  const RunRecord& best = **std::ranges::max_element(reliable, is_faster);
  const std::string figure = fmt::format("{} samples/s ± {}", format_si(*best.throughput.value),
                                         noise_text(*reliability_of(best).half_width));
  if (runs.size() == 1) return fmt::format("{} trains {}.", code(best.id), figure);
  const auto rivals = std::ranges::count_if(
      measured, [&](const RunRecord* run) { return run != &best && may_be_as_fast(*run, best); });
  if (rivals == 0)
    return fmt::format("{} is the fastest of {} runs: {}.", code(best.id), runs.size(), figure);
  return fmt::format(
      "{} is among the fastest of {} runs, and noise does not tell it from {} {}: "
      "{}.",
      code(best.id), runs.size(), rivals, rivals == 1 ? "other" : "others", figure);
}

std::string sentence_of(const ResultFile& file, const Runs& runs) {
  const bool has_ranks =
      std::ranges::any_of(runs, [](const RunRecord* run) { return is_scaled(*run); });
  return has_ranks ? scaling_sentence(file, runs) : fastest_sentence(runs);
}

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

std::string conclusion_of(const ResultFile& file) {
  const auto groups = by_workload(file);
  std::string text;
  for (const auto& [workload, runs] : groups) {
    const std::string sentence = sentence_of(file, runs);
    if (!text.empty()) text += ' ';
    text += groups.size() == 1 ? with_capital(sentence)
                               : fmt::format("{}: {}", code(workload), sentence);
  }
  return text;
}

}  // namespace ptbench

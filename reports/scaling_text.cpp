#include "reports/scaling_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "reports/field_text.h"
#include "src/base/error.h"
#include "src/base/units.h"
#include "src/judge/ranking.h"
#include "src/judge/scaling_loss.h"
#include "src/judge/serial_fraction.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/interval_text.h"
#include "src/measure/spread.h"
#include "src/measure/straggler.h"

namespace ptbench {
namespace {

/// Less is not worth a line of advice.
constexpr double kLittle = 0.005;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

bool moves_weights(const PhasesRecord& phases) {
  const double moved = phases.scatter.value_or(0) + phases.replicate.value_or(0) +
                       phases.gather.value_or(0) + phases.reduce.value_or(0);
  return moved > phases.communication_exposed.value_or(0);
}

bool was_given(const RunRecord& run, std::string_view option) {
  return run.id.find(fmt::format("/{}=", option)) != std::string::npos;
}

/// Whether fewer bytes of gradients are less work: where ranks read them from shared memory, a
/// smaller type only rounds them.
bool sends_gradients(const StrategyRecord& strategy) {
  return strategy.sends_values.value_or(false);
}

/// That reduces gradients once for more samples of a rank. Strong scaling has no other way, as
/// accumulating shares the same samples out to smaller micro-batches.
std::string more_samples(const RunRecord& run) {
  if (run.scaling->mode == ScalingMode::strong) return "try a larger --global-batch";
  const Size steps = run.strategy.accumulation_steps.value_or(1);
  return fmt::format("try a larger batch, or --accumulate {} to communicate less often",
                     std::max<Size>(4, 2 * steps));
}

std::string advice_on_communication(const RunRecord& run) {
  const StrategyRecord& strategy = run.strategy;
  if (moves_weights(run.phases_seconds)) return "try --strategy ddp, which moves only gradients";
  for (const std::string_view option : {"overlap", "bucket-mb"})
    if (was_given(run, option))
      return fmt::format("try without --{}, which is then chosen by measuring", option);
  if (!strategy.overlap && strategy.name != "ddp") return "try a larger batch or --strategy ddp";
  if (sends_gradients(strategy) && !was_given(run, "reduce-precision"))
    return "try a larger batch or --reduce-precision bf16";
  return more_samples(run);
}

std::string advice_on_sharing() {
  return "threads share cores: try fewer ranks or fewer --threads";
}

std::string advice_on_wait(const RunRecord& run) {
  const std::optional<Straggler> straggler = find_straggler(run);
  const std::string options = straggler ? slowing_options(run, straggler->rank) : "";
  if (options.empty() && shares_cores(run)) return advice_on_sharing();
  if (!straggler)
    return "a different rank is slow each time: check what else runs on their cores (ptbench "
           "doctor --noise)";
  return fmt::format(
      "rank {} computes {} longer than the others: {}", straggler->rank, percent(straggler->share),
      options.empty() ? "check what else runs on its cores" : "leave out " + options);
}

std::string advice_on(LossCause cause, const RunRecord& run) {
  const bool is_of_cores = cause != LossCause::wait && cause != LossCause::data;
  if (is_of_cores && shares_cores(run)) return advice_on_sharing();
  switch (cause) {
    case LossCause::compute_slowdown:
      return "the cores may share caches or memory bandwidth, or be far apart: try fewer ranks "
             "with more --threads";
    case LossCause::batch_effect:
      return fmt::format(
          "micro-batches of {} take longer per sample than the baseline's: try a larger "
          "--global-batch, or fewer ranks with more --threads",
          run.strategy.batch_per_replica.value_or(0));
    case LossCause::communication: return advice_on_communication(run);
    case LossCause::wait: return advice_on_wait(run);
    case LossCause::data:
      return run.data.workers.value_or(0) > 0 ? "try more --data-workers" : "try --data-workers 1";
    case LossCause::overhead:
      return run.scaling->mode == ScalingMode::weak ? "try a larger batch per rank"
                                                    : "try a larger --global-batch";
  }
  throw Defect("a cause without advice");
}

/// For people: "compute slowdown".
std::string words_of(LossCause cause) {
  std::string words(name_of(cause));
  std::ranges::replace(words, '_', ' ');
  return words;
}

bool is_told_from_all(const ScalingRecord& scaling) {
  const auto& interval = scaling.efficiency_ci95;
  return !interval || interval->high < 1 || interval->low > 1;
}

/// Whether enough was measured to say where the efficiency went, and some went beyond doubt.
bool loss_can_be_told(const RunRecord& run, const RunRecord* baseline) {
  const ScalingRecord& scaling = *run.scaling;
  return fewest_clean(run, baseline) >= kLeastRepetitions &&
         scaling.efficiency.value_or(0) <= 1 - kLittle && is_told_from_all(scaling);
}

/// "which allows a speedup of at most 10 (95 %: 8.2 to 13)".
std::string limit_text(const SerialFraction& serial) {
  const std::optional<double> limit = serial.largest_speedup(serial.fraction);
  const std::optional<double> low = serial.largest_speedup(serial.ci95.high);
  const std::optional<double> high = serial.largest_speedup(serial.ci95.low);
  if (!limit)
    return "which does not limit the speedup" + (low ? fmt::format(" below {:.3g}", *low) : "");
  if (!high)
    return fmt::format("which allows a speedup of at most {:.3g} (95 %: {:.3g} or more)", *limit,
                       low.value_or(*limit));
  return fmt::format("which allows a speedup of at most {:.3g} (95 %: {:.3g} to {:.3g})", *limit,
                     low.value_or(*limit), *high);
}

std::string serial_text(const SerialFraction& serial, ScalingMode mode) {
  if (serial.fraction >= 1) return "serial fraction 100 %: more ranks bring nothing";
  const std::string fraction =
      fmt::format("serial fraction {} (95 %: {:.1f} to {}; {})", percent(serial.fraction),
                  100 * serial.ci95.low, percent(serial.ci95.high),
                  mode == ScalingMode::weak ? "Gustafson" : "Amdahl");
  if (mode == ScalingMode::strong) return fmt::format("{}, {}", fraction, limit_text(serial));
  return fmt::format("{}: each further rank adds {:.3g} to the speedup", fraction,
                     1 - serial.fraction);
}

bool is_only_of_strategy(const ScalingFamily& family, std::span<const ScalingFamily> families) {
  return std::ranges::count_if(families, [&](const ScalingFamily& other) {
           return other.runs.back()->strategy.name == family.runs.back()->strategy.name;
         }) == 1;
}

/// Of the runs of one workload. Whoever has these cores anyway need not begin with ranks. Empty
/// where serial training on all cores is not the fastest, or ranks may well be as fast.
std::string all_cores_line(const Ranking& ranking) {
  const RunRecord* const fastest = ranking.fastest();
  const RunRecord* const on_ranks = fastest_on_ranks(ranking);
  if (fastest == nullptr || on_ranks == nullptr || !can_be_ranked(on_ranks) ||
      on_ranks->scaling->all_cores != fastest->id || ranking.is_rival(on_ranks))
    return {};
  const SpeedRatio ratio = speed_ratio(*fastest, *on_ranks);
  return fmt::format(
      "{} is {} times as fast as {} n{}, the fastest on several ranks: first try --strategy serial "
      "--threads {}",
      fastest->id, ratio_with_interval(ratio.value, *ratio.interval), on_ranks->strategy.name,
      on_ranks->strategy.world_size, fastest->strategy.threads.value_or(0));
}

/// By workload, in the order in which they begin in the file.
std::vector<Ranking> rankings_of(const ResultFile& file) {
  std::vector<std::string> workloads;
  std::vector<Ranking> rankings;
  for (const RunRecord& first : file.runs) {
    if (std::ranges::find(workloads, first.workload.name) != workloads.end()) continue;
    workloads.push_back(first.workload.name);
    std::vector<const RunRecord*> runs;
    for (const RunRecord& run : file.runs)
      if (run.workload.name == first.workload.name) runs.push_back(&run);
    rankings.push_back(ranking_of(runs));
  }
  return rankings;
}

/// "10.0 %"; "3.0 to 61.2 %" where it is not known well.
std::string lost_share_text(double efficiency, const std::optional<Interval>& interval) {
  if (!interval || form_of(efficiency, *interval) != IntervalForm::ends_alone)
    return percent(1 - efficiency);
  return fmt::format("{:.1f} to {}", kPercent * (1 - interval->high), percent(1 - interval->low));
}

/// What a row's speedup is of, where its throughput is of something else.
std::string basis_line(const ResultFile& file, const RunRecord& run) {
  const std::string rounds =
      rounds_text(run, run.scaling ? find_run(file, run.scaling->baseline) : nullptr);
  if (rounds.empty()) return {};
  const CountedRepetitions counted = counted_repetitions(run.samples);
  return fmt::format(
      "{}: speedup and efficiency rest on {} that it and its baseline took in turns, samples/s on "
      "its {}{} repetition{}",
      run.id, rounds, counted.count(), counted.are_clean() ? " clean" : "",
      counted.count() == 1 ? "" : "s");
}

/// "90.0 ± 1.3 %".
std::string share_text(const std::optional<double>& share,
                       const std::optional<Interval>& interval) {
  return share ? share_with_interval(*share, interval) : std::string();
}

}  // namespace

std::vector<std::string> scaling_lines(const ResultFile& file) {
  const std::vector<ScalingFamily> families = scaling_families(file.runs);
  std::vector<std::string> lines;
  for (const RunRecord& run : file.runs)
    if (std::string line = basis_line(file, run); !line.empty()) lines.push_back(std::move(line));
  for (const Ranking& ranking : rankings_of(file))
    if (std::string line = all_cores_line(ranking); !line.empty()) lines.push_back(std::move(line));
  for (const ScalingFamily& family : families) {
    const RunRecord& run = *family.runs.back();
    const StrategyRecord& strategy = run.strategy;
    const bool is_only = is_only_of_strategy(family, families);
    lines.push_back(fmt::format(
        "{}: {}", is_only ? fmt::format("{} n{}", strategy.name, strategy.world_size) : run.id,
        lost_text(run, find_run(file, run.scaling->baseline))));
    if (family.serial_fraction)
      lines.push_back(fmt::format("{}: {}", is_only ? strategy.name : run.id,
                                  serial_text(*family.serial_fraction, run.scaling->mode)));
  }
  return lines;
}

const RunRecord* find_run(const ResultFile& file, const std::optional<std::string>& id) {
  const auto found =
      std::ranges::find_if(file.runs, [&](const RunRecord& run) { return id && run.id == *id; });
  return found == file.runs.end() ? nullptr : &*found;
}

Size fewest_clean(const RunRecord& run, const RunRecord* other) {
  if (other == nullptr) return 0;
  return std::min(clean_repetitions(run.samples), clean_repetitions(other->samples));
}

std::string lost_text(const RunRecord& run, const RunRecord* baseline) {
  if (!run.scaling) return {};
  const ScalingRecord& scaling = *run.scaling;
  const double efficiency = scaling.efficiency.value_or(0);
  if (const Size clean = fewest_clean(run, baseline); clean < kLeastRepetitions)
    return fmt::format(
        "efficiency {}; too few clean repetitions of it and its baseline to say why "
        "({}, {} are needed)",
        efficiency_text(run), clean, kLeastRepetitions);
  if (efficiency > 1 - kLittle) return "efficiency " + efficiency_text(run);
  if (!is_told_from_all(scaling))
    return fmt::format("efficiency {}, which cannot be told from 100 %", efficiency_text(run));
  const std::string lost = lost_share_text(efficiency, scaling.efficiency_ci95);
  const std::optional<LossTerm> largest = largest_term(scaling.loss);
  if (!largest)
    return fmt::format("{} lost; it is not known where, because there are no phases", lost);
  return fmt::format("{} lost, most of it to {} ({}): {}", lost, words_of(largest->cause),
                     percent(largest->share), advice_on(largest->cause, run));
}

std::string rounds_text(const RunRecord& run, const RunRecord* baseline) {
  if (!run.scaling || !run.scaling->rounds) return {};
  const Size rounds = *run.scaling->rounds;
  const bool clean = run.scaling->basis == RatioBasis::clean_rounds;
  const auto is_of_them = [&](const RunRecord& one) {
    const CountedRepetitions counted = counted_repetitions(one.samples);
    return counted.are_clean() == clean && counted.count() == rounds;
  };
  if (is_of_them(run) && (baseline == nullptr || is_of_them(*baseline))) return {};
  return clean ? fmt::format("{} clean rounds", rounds) : fmt::format("all {} rounds", rounds);
}

std::string largest_loss_text(const RunRecord& run, const RunRecord* baseline) {
  if (!run.scaling || !loss_can_be_told(run, baseline)) return {};
  const std::optional<LossTerm> largest = largest_term(run.scaling->loss);
  if (!largest) return {};
  return fmt::format("{}: {}", words_of(largest->cause), percent(largest->share));
}

std::string speedup_text(const RunRecord& run) {
  if (!run.scaling || !run.scaling->speedup) return {};
  const double speedup = *run.scaling->speedup;
  if (const auto interval = speedup_of(run)->interval;
      interval && form_of(speedup, *interval) == IntervalForm::ends_alone)
    return ratio_with_interval(speedup, *interval);
  return fmt::format("{:.2f}", speedup);
}

std::string efficiency_text(const RunRecord& run) {
  if (!run.scaling) return {};
  return share_text(run.scaling->efficiency, run.scaling->efficiency_ci95);
}

std::string all_cores_text(const RunRecord& run) {
  if (!run.scaling) return {};
  return share_text(run.scaling->efficiency_vs_all_cores,
                    run.scaling->efficiency_vs_all_cores_ci95);
}

bool has_several_hosts(const ResultFile& file) {
  return std::ranges::any_of(
      file.runs, [](const RunRecord& run) { return run.strategy.hosts.value_or(1) > 1; });
}

std::string link_text(const RunRecord& run) {
  if (!run.link || !run.link->latency_seconds || !run.link->bandwidth_bytes_per_second) return {};
  return fmt::format("{}, {}", human_text(*run.link->latency_seconds, Unit::seconds),
                     human_text(*run.link->bandwidth_bytes_per_second, Unit::bytes_per_second));
}

std::string within_hosts_text(const RunRecord& run) {
  return run.scaling ? share_text(run.scaling->efficiency_within_hosts, {}) : std::string();
}

std::string across_hosts_text(const RunRecord& run) {
  if (!run.scaling) return {};
  return share_text(run.scaling->efficiency_across_hosts,
                    run.scaling->efficiency_across_hosts_ci95);
}

std::string predicted_text(const RunRecord& run) {
  if (!run.scaling) return {};
  const PredictedRecord& predicted = run.scaling->predicted;
  if (!predicted.efficiency_across_hosts) return {};
  std::string text = percent(*predicted.efficiency_across_hosts);
  if (!predicted.overlapped_efficiency_across_hosts) return text;
  return fmt::format("{:.1f} to {}", 100 * *predicted.efficiency_across_hosts,
                     percent(*predicted.overlapped_efficiency_across_hosts));
}

std::string versus_text(const RunRecord& run) {
  if (!run.versus || !run.versus->step_time_ratio) return {};
  const auto& interval = run.versus->step_time_ratio_ci95;
  const double ratio = *run.versus->step_time_ratio;
  return interval ? ratio_with_interval(ratio, *interval) : fmt::format("{:.2f}", ratio);
}

}  // namespace ptbench

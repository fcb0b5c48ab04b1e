#include "src/judge/ambiguity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/measure/short_slices.h"
#include "src/measure/slice_probe.h"

namespace ptbench {
namespace {

constexpr std::string_view kFixedLength = "measure without --steps and --epochs";

/// "34 %", "4.1 %", "0.16 %", "1 %".
std::string percent(double fraction) {
  const double value = 100 * fraction;
  const double size = std::abs(value);
  const int decimals = size < 0.995 ? 2 : size < 9.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return (text == "-0" ? "0" : text) + " %";
}

/// "near", or "on one core" where there is no placement.
std::string placement_text(const std::string& placement) {
  return placement == kOneCore ? "on one core" : single_line(placement);
}

std::string placements_text(const LogTimes& times) {
  std::string text;
  for (const auto& [placement, values] : times)
    text += (text.empty() ? "" : " and ") + placement_text(placement);
  return text;
}

/// What keeps slices from being clean.
struct Disturbance {
  Size slices = 0;
  double sum = 0;  ///< of the fractions
};

struct Disturbances {
  Disturbance foreign;
  Disturbance stolen;
  Disturbance moved;
  Disturbance throttled;
  Disturbance shared;
  Size short_slices = 0;
  Size unknown = 0;    ///< slices of unknown load
  Size unwatched = 0;  ///< in which nobody knows whether a device was throttled
};

void add(double fraction, Disturbance& disturbance) {
  ++disturbance.slices;
  disturbance.sum += fraction;
}

Disturbances disturbances_of(const SamplesRecord& samples) {
  Disturbances found;
  for (const SliceRecord& slice : samples.slices) {
    if (is_clean(slice)) continue;
    if (is_short(slice, samples))  // even if nothing else had disturbed it
      ++found.short_slices;
    else if (!slice.clean)
      ++(slice.foreign_cpu_fraction ? found.unwatched : found.unknown);
    else if (slice.foreign_cpu_fraction > kCleanForeignFraction)
      add(*slice.foreign_cpu_fraction, found.foreign);
    else if (slice.steal_fraction > kCleanStealFraction)
      add(*slice.steal_fraction, found.stolen);
    else if (slice.placement == "mixed")
      add(0, found.moved);
    else if (is_throttled(slice))
      add(0, found.throttled);
    else if (is_shared(slice))
      add(0, found.shared);
  }
  return found;
}

/// What keeps most of the slices from being clean; nothing where that cannot be told.
std::string disturbance_text(const SamplesRecord& samples) {
  const auto [foreign, stolen, moved, throttled, shared, too_short, unknown, unwatched] =
      disturbances_of(samples);
  const auto mean_of = [](const Disturbance& one) {
    return percent(one.sum / static_cast<double>(one.slices));
  };
  const Size most = std::max({foreign.slices, stolen.slices, moved.slices, throttled.slices,
                              shared.slices, too_short, unknown, unwatched});
  if (most == 0) return {};
  if (too_short == most) return text_of(short_slices(samples)) + ": use a longer --max-time";
  if (unwatched == most) return "whether the GPU was throttled is not known";
  if (unknown == most)
    return has_turns(samples)
               ? "what else ran is not known: use a longer --max-time"
               : "what else ran is not known: /proc/stat does not show the load of these cores";
  if (foreign.slices == most)
    return fmt::format("other programs used {} of the cores", mean_of(foreign));
  if (stolen.slices == most)
    return fmt::format("the hypervisor took {} of the cores' time", mean_of(stolen));
  if (throttled.slices == most) return "the GPU was throttled";
  if (shared.slices == most) return "another process used the GPU";
  return "the cores were sometimes near and sometimes far";
}

/// Clean repetitions in other classes: "2 were far".
std::string elsewhere_text(const LogTimes& times, const std::string& placement) {
  std::string text;
  for (const auto& [other, values] : times)
    if (other != placement)
      text += fmt::format("{}{} {} {}", text.empty() ? "" : " and ", values.size(),
                          values.size() == 1 ? "was" : "were", placement_text(other));
  return text;
}

bool is_of_fixed_length(const SamplesRecord& samples) {
  return samples.stop_reason == StopReason::steps || samples.stop_reason == StopReason::epochs;
}

Size count_of(const LogTimes& times, const std::string& placement) {
  const auto found = times.find(placement);
  return found == times.end() ? 0 : std::ssize(found->second);
}

/// Why a side has too few clean repetitions of a class; nothing where too few were made.
std::string cause_text(const ComparedSide& side, const std::string& placement) {
  if (is_of_fixed_length(side.samples)) return std::string(kFixedLength);
  std::string disturbance = disturbance_text(side.samples);
  return disturbance.empty() ? elsewhere_text(side.times, placement) : disturbance;
}

/// Nothing where the side has enough of a class. `placement` is empty where the other side has no
/// class at all.
std::string shortage_text(std::string_view name, const ComparedSide& side,
                          const std::string& placement) {
  const Size count = count_of(side.times, placement);
  const bool waits_for_other = placement.empty() && !side.times.empty();
  if (count >= kLeastRepetitions || waits_for_other) return {};
  const std::string where =
      side.times.empty() || placement.empty() ? "" : " " + placement_text(placement);
  const std::string cause = cause_text(side, placement);
  return fmt::format("{} clean repetition{} of {}{}, {} are needed{}{}",
                     count == 0 ? "no" : fmt::format("{}", count), count < 2 ? "" : "s", name,
                     where, kLeastRepetitions, cause.empty() ? "" : ": ", cause);
}

/// The class with the most clean repetitions on the side that has fewer; nothing where no class is
/// on both sides.
std::string best_common_class(const LogTimes& base, const LogTimes& fresh) {
  std::pair<Size, std::string> best{0, {}};
  for (const auto& [placement, times] : base) {
    const Size count = std::min(std::ssize(times), count_of(fresh, placement));
    if (count > best.first) best = {count, placement};
  }
  return best.second;
}

std::string missing_repetitions_text(const ComparedSide& base, const ComparedSide& fresh) {
  const bool of_base = base.samples.repetitions.empty();
  const bool of_new = fresh.samples.repetitions.empty();
  if (!of_base && !of_new) return {};
  const std::string_view who = of_base && of_new ? "BASE and NEW have"
                               : of_base         ? "BASE has"
                                                 : "NEW has";
  return fmt::format("{} no repetitions: {}", who, kFixedLength);
}

/// "4 % lower".
std::string clock_text(double clock_change) {
  return fmt::format("{} {}", percent(std::abs(std::expm1(clock_change))),
                     clock_change > 0 ? "higher" : "lower");
}

}  // namespace

std::string why_too_few(const ComparedSide& base, const ComparedSide& fresh) {
  if (std::string text = missing_repetitions_text(base, fresh); !text.empty()) return text;
  const std::string placement = best_common_class(base.times, fresh.times);
  if (placement.empty() && !base.times.empty() && !fresh.times.empty())
    return fmt::format("no common placement: BASE {}, NEW {}", placements_text(base.times),
                       placements_text(fresh.times));
  const std::string of_base = shortage_text("BASE", base, placement);
  const std::string of_new = shortage_text("NEW", fresh, placement);
  return of_base + (of_base.empty() || of_new.empty() ? "" : "; ") + of_new;
}

std::string change_text(const LogChange& change) {
  return fmt::format("{} {}", percent(std::abs(std::expm1(change.estimate))),
                     change.estimate > 0 ? "slower" : "faster");
}

std::string interval_text(const LogChange& change) {
  return fmt::format("change of {} with a {:g} % interval of {} to {}",
                     percent(std::expm1(change.estimate)), 100 * change.level,
                     percent(std::expm1(change.estimate - change.half_width)),
                     percent(std::expm1(change.estimate + change.half_width)));
}

std::string why_clock(double clock_change, Verdict by_time, Verdict by_cycles) {
  return fmt::format(
      "the cores' clock was {} in NEW: {} by time, {} at one clock, and it is not clear whether "
      "the step follows the clock; measure both in turns (`ptbench gate`)",
      clock_text(clock_change), name_of(by_time), name_of(by_cycles));
}

std::string why_same_in_cycles(double clock_change, Verdict by_time) {
  return fmt::format(
      "{} by time, with a clock of the cores that was {}; `ptbench gate` shows whether NEW itself "
      "changes the clock",
      name_of(by_time), clock_text(clock_change));
}

std::string why_ambiguous(const LogChange& change, double detect) {
  if (change.spread.unusual)
    return fmt::format("{} spread of {} is beyond what this machine usually has ({})",
                       change.rounds > 0 ? "within rounds, the" : "run-to-run",
                       percent(change.spread.standard_deviation), percent(change.usual));
  const bool is_small = std::abs(change.estimate) <= detect / 2;
  return interval_text(change) + (is_small ? fmt::format(": not within ±{}", percent(detect))
                                           : std::string(": there may be no change"));
}

}  // namespace ptbench

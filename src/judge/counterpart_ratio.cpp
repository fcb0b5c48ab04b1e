#include "src/judge/counterpart_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/judge/id_options.h"
#include "src/judge/ranking.h"
#include "src/judge/step_ratio.h"
#include "src/measure/precision_warning.h"

namespace ptbench {
namespace {

/// Whether a ratio to it says something: it has times, and trains what ptbench does.
bool is_comparable(const RunRecord& run) {
  const bool is_native = run.engine.name.value_or("native") == "native";
  return has_times(run) && (is_native || run.verification.status == VerificationStatus::passed);
}

/// Both have the same options, thus as many samples in a step.
VersusRecord versus_of(const RunRecord& run, const RunRecord& reference, bool in_rounds,
                       const PriorNoise& prior) {
  const double ratio = 1 / speedup_over(run, reference);
  return {.run = reference.id,
          .step_time_ratio = ratio,
          .step_time_ratio_ci95 = ratio_interval(ratio, run, reference, in_rounds, prior),
          .pairs_in_turns = turns_together(run, reference).rounds};
}

constexpr std::string_view kFp32 = "fp32";

/// Whether `other` is `run` in fp32.
bool is_in_fp32(const RunRecord& other, const RunRecord& run) {
  const StrategyRecord& a = other.strategy;
  const StrategyRecord& b = run.strategy;
  const std::string_view wanted = b.name == "amp" ? "serial" : std::string_view(b.name);
  return a.precision == kFp32 && a.name == wanted && other.workload.name == run.workload.name &&
         other.engine.name == run.engine.name && a.world_size == b.world_size &&
         a.threads == b.threads && a.global_batch == b.global_batch &&
         a.accumulation_steps == b.accumulation_steps && options_in_id(other) == options_in_id(run);
}

}  // namespace

void add_engine_ratios(std::span<RunRecord> runs, std::span<const EnginePlan> plans,
                       const PriorNoise& prior) {
  ensure(runs.size() == plans.size(), "runs of which nothing is planned");
  std::map<std::string_view, std::size_t> places;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    runs[at].versus.reset();
    if (is_comparable(runs[at])) places.emplace(runs[at].id, at);
  }
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const auto found = places.find(plans[at].reference);
    if (found == places.end() || !is_comparable(runs[at])) continue;
    const bool in_rounds = plans[at].in_rounds && plans[found->second].in_rounds;
    runs[at].versus = versus_of(runs[at], runs[found->second], in_rounds, prior);
  }
}

void add_precision_warnings(std::span<RunRecord> runs, const PriorNoise& prior) {
  for (RunRecord& run : runs) {
    if (run.strategy.precision == kFp32 || !has_times(run)) continue;
    const auto fp32 = std::ranges::find_if(
        runs, [&](const RunRecord& other) { return has_times(other) && is_in_fp32(other, run); });
    if (fp32 == runs.end() || !can_be_ranked(&run) || !can_be_ranked(&*fp32)) continue;
    const double ratio = 1 / speedup_over(run, *fp32);
    const std::optional<Interval> interval = ratio_interval(ratio, run, *fp32, false, prior);
    if (!interval) continue;
    remove_warning(run, kSlowerThanFp32);
    if (interval->low <= 1) continue;
    run.warnings.push_back(slower_than_fp32(
        run.strategy, true,
        fmt::format("a step in {} takes {:.2f} times ({:.2f} to {:.2f}) as long as in fp32 ('{}')",
                    run.strategy.precision, ratio, interval->low, interval->high, fp32->id)));
  }
}

}  // namespace ptbench

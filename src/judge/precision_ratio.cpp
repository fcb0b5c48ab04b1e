#include "src/judge/precision_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "src/judge/id_options.h"
#include "src/judge/ranking.h"
#include "src/judge/step_ratio.h"
#include "src/measure/precision_warning.h"

namespace ptbench {
namespace {

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

#include "src/judge/engine_ratio.h"

#include <map>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/judge/step_ratio.h"

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

}  // namespace ptbench

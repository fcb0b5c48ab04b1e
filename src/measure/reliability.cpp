#include "src/measure/reliability.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/interval_text.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

std::optional<Interval> deviation_of(const ThroughputRecord& throughput) {
  if (!throughput.ci95) return std::nullopt;
  return Interval{.low = throughput.ci95->low / *throughput.value - 1,
                  .high = throughput.ci95->high / *throughput.value - 1};
}

Trust trust_of(const Reliability& found) {
  if (found.repetitions <= 1) return Trust::one_repetition;
  if (found.clean < kLeastRepetitions || !found.deviation) return Trust::few_clean;
  const double half_width = (found.deviation->high - found.deviation->low) / 2;
  return half_width <= kMostReliableNoise ? Trust::reliable : Trust::too_noisy;
}

}  // namespace

bool has_throughput(const RunRecord& run) {
  return ended_well(run.status) && run.throughput.value.value_or(0) > 0;
}

Reliability reliability_of(const RunRecord& run) {
  Reliability found;
  if (!has_throughput(run)) return found;
  found.deviation = deviation_of(run.throughput);
  found.clean = clean_repetitions(run.samples);
  found.unknown = unknown_repetitions(run.samples);
  found.repetitions = std::ssize(run.samples.repetitions);
  found.trust = trust_of(found);
  return found;
}

bool is_ratio_reliable(const RunRecord& run, const RunRecord* other) {
  return reliability_of(run).is_reliable() &&
         (other == nullptr || reliability_of(*other).is_reliable());
}

std::string clean_repetitions_of(const Reliability& reliability) {
  return fmt::format("{} of {} repetitions clean{}", reliability.clean, reliability.repetitions,
                     unknown_text(reliability.unknown));
}

std::string text_of(const Reliability& reliability) {
  switch (reliability.trust) {
    case Trust::reliable: return "reliable to " + deviation_text(*reliability.deviation);
    case Trust::too_noisy:
      return fmt::format("not reliable: {}, {}", deviation_text(*reliability.deviation),
                         clean_repetitions_of(reliability));
    case Trust::few_clean:
      return fmt::format("not reliable: {}", clean_repetitions_of(reliability));
    case Trust::one_repetition:
      return "not reliable: one repetition does not show how much others would differ";
    case Trust::not_measured: return {};
  }
  throw Defect("a trust without a text");
}

}  // namespace ptbench

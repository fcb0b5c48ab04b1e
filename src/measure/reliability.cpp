#include "src/measure/reliability.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

bool has_throughput(const RunRecord& run) {
  return ended_well(run.status) && run.throughput.value.value_or(0) > 0;
}

std::optional<double> half_width_of(const ThroughputRecord& throughput) {
  if (!throughput.ci95) return std::nullopt;
  return (throughput.ci95->high - throughput.ci95->low) / 2 / *throughput.value;
}

Trust trust_of(const Reliability& found) {
  if (found.repetitions <= 1) return Trust::one_repetition;
  if (found.clean < kLeastRepetitions || !found.half_width) return Trust::few_clean;
  return *found.half_width <= kMostReliableNoise ? Trust::reliable : Trust::too_noisy;
}

std::string clean_text(const Reliability& reliability) {
  return fmt::format("{} of {} repetitions clean{}", reliability.clean, reliability.repetitions,
                     unknown_text(reliability.unknown));
}

}  // namespace

Reliability reliability_of(const RunRecord& run) {
  Reliability found;
  if (!has_throughput(run)) return found;
  found.half_width = half_width_of(run.throughput);
  found.clean = clean_repetitions(run.samples);
  found.unknown = unknown_repetitions(run.samples);
  found.repetitions = std::ssize(run.samples.repetitions);
  found.trust = trust_of(found);
  return found;
}

std::string text_of(const Reliability& reliability) {
  switch (reliability.trust) {
    case Trust::reliable:
      return fmt::format("reliable to ± {}", noise_text(*reliability.half_width));
    case Trust::too_noisy:
      return fmt::format("not reliable: ± {}, {}", noise_text(*reliability.half_width),
                         clean_text(reliability));
    case Trust::few_clean: return fmt::format("not reliable: {}", clean_text(reliability));
    case Trust::one_repetition:
      return "not reliable: one repetition does not tell what others would";
    case Trust::not_measured: return {};
  }
  throw Defect("a trust without a text");
}

std::string noise_text(double share) {
  const double percent = 100 * share;
  return percent >= 10 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.2g} %", percent);
}

}  // namespace ptbench

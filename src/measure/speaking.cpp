#include "src/measure/speaking.h"

#include <cmath>
#include <optional>

#include "src/measure/repetition_times.h"
#include "src/measure/statistics.h"

namespace ptbench {

Speaking speaking_of(const SamplesRecord& samples) {
  const std::vector<RepetitionTime> times = median_times(samples);
  const std::vector<std::optional<double>> means = log_means(samples);
  const LogTimes classes = by_class(times);
  const LogTimes::value_type* speaking = speaking_class(classes);
  Speaking result;
  if (speaking != nullptr) result.placement = speaking->first;
  for (std::size_t place = 0; place < times.size(); ++place) {
    const double seconds = samples.repetitions[place].median_seconds.value_or(0);
    const RepetitionTime& time = times[place];
    const bool speaks = speaking == nullptr || (time.log_time && time.placement == speaking->first);
    if (!speaks || !(seconds > 0)) continue;
    result.places.push_back(place);
    result.log_medians.push_back(std::log(seconds));
    result.log_means.push_back(means[place].value_or(result.log_medians.back()));
  }
  return result;
}

Spread spread_of_speaking(const Speaking& speaking, const std::vector<double>& logs,
                          const PriorNoise& prior) {
  if (!speaking.placement.empty()) return spread_of({&logs, 1}, prior.of(speaking.placement));
  return {.standard_deviation = standard_deviation(logs).value_or(0),
          .degrees_of_freedom = static_cast<double>(logs.size() - 1)};
}

}  // namespace ptbench

#include "app/training/precision_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/units.h"
#include "src/measure/precision_warning.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr Size kLeastSteps = 4;
constexpr double kClearlyLonger = 1.1;

std::vector<double> without_first(const std::vector<double>& seconds) {
  return {seconds.empty() ? seconds.end() : seconds.begin() + 1, seconds.end()};
}

}  // namespace

std::optional<WarningRecord> warning_of_pace(const StrategyRecord& strategy,
                                             const ComparedSteps& steps) {
  if (strategy.precision == "fp32") return std::nullopt;
  const std::vector<double> own = without_first(steps.tested);
  const std::vector<double> fp32 = without_first(steps.oracle);
  if (std::min(std::ssize(own), std::ssize(fp32)) < kLeastSteps) return std::nullopt;
  const double by_least = std::ranges::min(own) / std::ranges::min(fp32);
  const double by_median = median(own) / median(fp32);
  if (std::min(by_least, by_median) < kClearlyLonger) return std::nullopt;
  return slower_than_fp32(
      strategy, false,
      fmt::format("while {0} was verified against fp32, a step took {1} in {0} and {2} in fp32 "
                  "(medians of {3} steps)",
                  strategy.precision, format_duration(median(own)), format_duration(median(fp32)),
                  std::min(own.size(), fp32.size())));
}

}  // namespace ptbench

#include "src/judge/false_discoveries.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace ptbench {
namespace {

bool is_tested(const RunComparison& run) {
  return run.p_value.has_value() && run.verdict != Verdict::incomparable;
}

/// The largest p-value that survives; negative where none does.
double largest_survivor(std::vector<double> p_values) {
  std::ranges::sort(p_values);
  const auto count = static_cast<double>(p_values.size());
  for (std::size_t at = p_values.size(); at-- > 0;)
    if (p_values[at] <= static_cast<double>(at + 1) / count * kFalseDiscoveryRate)
      return p_values[at];
  return -1;
}

bool is_within(const std::optional<Interval>& change, double detect) {
  return !change || (change->low >= -detect && change->high <= detect);
}

void withdraw(const Comparison& comparison, RunComparison& run) {
  const bool stays = is_within(run.change_ci99, comparison.detect) &&
                     is_within(run.mean_change_ci999, comparison.detect);
  run.reason = fmt::format("{} by itself (p = {:.2g}), but among {} runs that may be chance",
                           name_of(run.verdict), *run.p_value, comparison.tested);
  run.verdict = stays ? Verdict::same : Verdict::ambiguous;
}

}  // namespace

void control_false_discoveries(Comparison& comparison) {
  std::vector<double> p_values;
  for (const RunComparison& run : comparison.runs)
    if (is_tested(run)) p_values.push_back(*run.p_value);
  comparison.tested = std::ssize(p_values);
  const double largest = largest_survivor(std::move(p_values));
  Size changes = 0;
  for (RunComparison& run : comparison.runs) {
    if (!is_tested(run) || !is_change(run.verdict)) continue;
    if (*run.p_value <= largest)
      ++changes;
    else
      withdraw(comparison, run);
  }
  comparison.expected_false_alarms = kFalseDiscoveryRate * static_cast<double>(changes);
}

}  // namespace ptbench

#pragma once

#include "src/judge/comparison.h"

namespace ptbench {

/// The share of false ones among the runs that are called slower or faster, at most and on average.
inline constexpr double kFalseDiscoveryRate = 0.01;

/// Keeps slower and faster verdicts of a comparison only where they survive the procedure of
/// Benjamini and Hochberg ("Controlling the false discovery rate", 1995) over all runs that were
/// tested: of m p-values in ascending order, the largest k with p(k) ≤ k / m · rate, and all before
/// it. A single run survives where p ≤ 0.01, as it is judged alone. The others become the same
/// where their intervals lie within ± detect, else ambiguous, with the reason. Writes `tested` and
/// `expected_false_alarms`. Runs without a p-value, or that got no verdict, are not counted.
void control_false_discoveries(Comparison& comparison);

}  // namespace ptbench

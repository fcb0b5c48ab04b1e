#pragma once

#include <string>
#include <vector>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// A process of BASE and one of NEW that took turns with each other: what slows the machine down
/// for seconds slows both. Changes are NEW less BASE, of natural logarithms of a step's time.
struct LockstepPair {
  std::string lockstep;      ///< `RepetitionRecord::lockstep` of both
  Size quads = 0;            ///< one at least
  double median = 0;         ///< change of a slice's median step, the median over quads
  double mean = 0;           ///< change of the mean step over all quads
  double base_log_time = 0;  ///< of BASE: mean over the quads of the logarithm of a slice's median
  double base_log_mean = 0;  ///< of BASE: logarithm of the mean step over all quads
};

/// The pairs of the processes that were measured in lockstep on both sides, in BASE's order. Others
/// may have taken turns with them.
///
/// Turns come as palindromes, ABBA or ABCCBA: two slices of either side with the same middle are a
/// *quad*, in which the machine's drift cancels out. A quad's median changes by the difference of
/// the means of its slices' logarithms, a pair's by the median over its quads (a machine that
/// changes its speed within a quad, or a program that stood still, makes one quad wild, not the
/// pair). The mean step is that of all steps in quads: a program may have steps that are slow, and
/// too rare for most quads. Each slice is in one quad at most, whatever else ran meanwhile; those
/// without a mirrored partner, as at the end, are in none, and so are slices whose samples were
/// left out. Pairs without a quad are left out.
[[nodiscard]] std::vector<LockstepPair> lockstep_pairs(const SamplesRecord& base,
                                                       const SamplesRecord& fresh);

}  // namespace ptbench

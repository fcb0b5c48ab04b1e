#pragma once

#include <string>

#include "src/judge/lockstep_rule.h"

namespace ptbench {

/// What a gate says after a look that brought no verdict: after how many pairs one is to be
/// expected, at the noise seen so far, or that `rule.max_pairs` are not likely to bring one, and
/// what helps. `seconds`: that the pairs until then are going to take.
[[nodiscard]] std::string pairs_to_come_text(const LockstepJudgement& judged,
                                             const LockstepRule& rule, double seconds);

}  // namespace ptbench

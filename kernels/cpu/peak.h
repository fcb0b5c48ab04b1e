#pragma once

#include "src/base/clock.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Floating-point operations a second that `members` members of the team reach together on fp32
/// multiply-adds in registers: what utilisation is measured against. The best of a few rounds of
/// some milliseconds.
[[nodiscard]] double measure_fma_peak(Team& team, int members, Isa isa, const Clock& clock);

}  // namespace ptbench

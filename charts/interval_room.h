#pragma once

#include "charts/chart.h"

namespace ptbench {

/// Moves the ends of the upright axis, where `chart` gives them, so that all intervals fit between
/// them. A logarithmic axis gets a lower end where an interval reaches down to 0: it is drawn from
/// there.
void make_room_for_intervals(Chart& chart);

}  // namespace ptbench

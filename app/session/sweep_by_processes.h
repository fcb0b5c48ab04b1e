#pragma once

#include <cstddef>
#include <functional>

#include "app/session/run_session.h"
#include "app/session/sweep.h"

namespace ptbench {

/// Surroundings of a sweep whose sessions start processes. `around` outlives what is returned;
/// `save` is SweepSurroundings::save; `share_of` tells which share of all is through after so many
/// rounds.
[[nodiscard]] SweepSurroundings sweep_by_processes(
    const SessionSurroundings& around,
    std::function<void(std::size_t side, const ResultFile& result)> save,
    std::function<double(double rounds)> share_of);

}  // namespace ptbench

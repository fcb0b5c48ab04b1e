#pragma once

#include <cstddef>
#include <functional>

#include "src/session/run_session.h"
#include "src/session/sweep.h"

namespace ptbench {

/// Surroundings of a sweep whose sessions are RunSessions. `around` outlives what is returned;
/// `save` is SweepSurroundings::save.
[[nodiscard]] SweepSurroundings sweep_by_processes(
    const SessionSurroundings& around,
    std::function<void(std::size_t side, const ResultFile& result)> save);

}  // namespace ptbench

#pragma once

#include "app/config/configuration.h"
#include "app/config/run_options.h"
#include "app/session/rank_launcher.h"
#include "src/device/topology.h"
#include "src/measure/record.h"

namespace ptbench {

// A run whose ranks are started on several hosts: --hosts.

/// `options`, which name hosts, as the ranks will have them, if all hosts have as many cores as
/// this one. Throws usage errors for what does not start ranks.
[[nodiscard]] RunOptions as_on_hosts(const RunOptions& options, const Topology& topology);

/// What starts them: `ptbench launch` of this program.
[[nodiscard]] RankLauncher launcher_on(const RunOptions& options);

/// Says on standard error how many ranks there were, on which hosts, and what carried their
/// messages.
void tell_hosts(const RunRecord& record);

}  // namespace ptbench

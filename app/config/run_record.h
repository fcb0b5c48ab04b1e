#pragma once

#include <string>
#include <vector>

#include "app/config/configuration.h"
#include "src/device/topology.h"
#include "src/measure/record.h"

namespace ptbench {

/// A result file without runs: this program, now, on this machine. `command_line` is argv; `device`
/// is listed beside the CPU, where it is another.
[[nodiscard]] ResultFile begin_result(const std::vector<std::string>& command_line,
                                      const Topology& topology, const ChosenDevice& device = {});

/// What is known of a run before anything was measured, with what is to be warned of by then.
[[nodiscard]] RunRecord begin_record(const RunConfig& config, const Topology& topology);

}  // namespace ptbench

#pragma once

#include "src/base/exit_code.h"
#include "src/config/run_config.h"

namespace ptbench {

/// `ptbench run`: measures one configuration, prints its summary and writes its files.
[[nodiscard]] ExitCode run_command(const RunOptions& options);

}  // namespace ptbench

#pragma once

#include "app/config/run_options.h"
#include "src/base/exit_code.h"

namespace ptbench {

/// `ptbench run`: measures one configuration, prints its summary and writes its files.
[[nodiscard]] ExitCode run_command(const RunOptions& options);

}  // namespace ptbench

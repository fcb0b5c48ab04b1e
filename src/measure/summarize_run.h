#pragma once

#include "src/measure/record.h"
#include "src/measure/sampling.h"

namespace ptbench {

/// Writes what `samples` say into `run`: samples, step_seconds, throughput (if the global batch is
/// known) and compute (what is known of operations and peak). A value that needs several
/// repetitions stays empty. Status becomes interrupted if sampling was.
void summarize_run(const Samples& samples, RunRecord& run);

}  // namespace ptbench

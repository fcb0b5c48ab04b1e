#pragma once

#include <memory>

#include "app/config/run_progress.h"
#include "app/training/training_setup.h"
#include "src/base/size.h"
#include "src/measure/record.h"
#include "src/process/output_file.h"
#include "strategies/conductor.h"
#include "workloads/program.h"

namespace ptbench {

/// Traces some steps of a copy of the run's training, so that nothing that is measured knows of it,
/// and writes this rank's trace to `file`. All ranks call it. Interrupted is thrown where a signal
/// came, on rank 0; then nobody writes. A trace that was cut is warned of in `record`.
void trace_training(const RankRole& role, const TrainingContext& context,
                    const TrainingShape& shape, const std::shared_ptr<const ProgramPlan>& plan,
                    const RunProgress& watch, OutputFile& file, RunRecord& record);

}  // namespace ptbench

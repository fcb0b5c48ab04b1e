#pragma once

#include "app/programs/program_ranks.h"
#include "reports/trace_json.h"
#include "src/base/size.h"
#include "src/measure/record.h"
#include "src/measure/step_trace.h"

namespace ptbench {

/// The phases that a rank reported: means over the steps with any reported phase. The part of a
/// step that no phase covers is `other`. All empty where there is no such step.
[[nodiscard]] PhasesRecord phases_of(const ProgramRanks::Observed& observed);

/// Forward and backward of a step; empty where neither was told.
[[nodiscard]] std::optional<double> compute_seconds_of(const PhasesRecord& phases);

/// The same steps as a trace shows them: phases as spans, all communication as collectives.
[[nodiscard]] TraceRecorder trace_of(const ProgramRanks::Observed& observed);

}  // namespace ptbench

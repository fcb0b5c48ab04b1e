#pragma once

#include <string>
#include <string_view>

#include "app/config/configuration.h"
#include "app/config/run_progress.h"
#include "src/measure/record.h"

namespace ptbench {

/// Before a program is measured: runs `config.program->verification`, which compares single steps
/// of the program with ptbench's own from equal weights, and takes over what it says. The record
/// fails where they differ. Throws a capability error where the program cannot train here, and a
/// run error where the comparison ends otherwise; nothing of it is left.
void verify_program(const RunConfig& config, const RunSurroundings& around, RunRecord& record);

/// What a comparison said in `line`, the JSON object that peers/pytorch/verify.py prints last.
/// Throws a run error where it is none.
[[nodiscard]] VerificationRecord read_verification(std::string_view line);

}  // namespace ptbench

#pragma once

#include <cstdint>
#include <vector>

#include "app/config/run_options.h"
#include "src/base/option_table.h"

namespace ptbench {

// The rows of run_option_table(), by subject. Each function appends its own.

using RunOptionRows = std::vector<OptionRow<RunOptions>>;

// Counts end where no machine follows, so that products of a few of them cannot overflow.
inline constexpr std::uint64_t kMostSamples = 1'000'000'000'000;
inline constexpr std::uint64_t kMostSteps = 1'000'000'000'000;

void append_training(RunOptionRows& rows);
/// Another engine, or a program of the user.
void append_program(RunOptionRows& rows);
void append_arithmetic(RunOptionRows& rows);
void append_machine(RunOptionRows& rows);
void append_communication(RunOptionRows& rows);
/// The place of a rank that somebody else starts.
void append_place(RunOptionRows& rows);
void append_imbalance(RunOptionRows& rows);
void append_optimizer(RunOptionRows& rows);
void append_data(RunOptionRows& rows);
void append_length(RunOptionRows& rows);
void append_stop_rule(RunOptionRows& rows);
void append_checks(RunOptionRows& rows);
void append_files(RunOptionRows& rows);
void append_trace(RunOptionRows& rows);
/// What a run tells the processes that it starts.
void append_hidden(RunOptionRows& rows);
/// What tests of gates need.
void append_slowdown(RunOptionRows& rows);

}  // namespace ptbench

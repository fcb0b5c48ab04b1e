#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/session_setup.h"
#include "src/base/option_table.h"

namespace ptbench {

// What the processes of a session are told besides what the user said.

inline constexpr std::string_view kTurnsOption = "--turns";

/// Whether an option is handed to a process by its session, and by no user.
[[nodiscard]] bool is_of_session(const OptionInfo& option);

/// The arguments of the `run` that chooses and verifies. `own_plan`: where the session keeps what
/// was chosen.
[[nodiscard]] std::vector<std::string> arguments_of_preparation(
    const SessionSetup& setup, const std::filesystem::path& own_plan);

/// The arguments of the `run` that measures a repetition, for so many seconds unless its length is
/// fixed.
[[nodiscard]] std::vector<std::string> arguments_of_repetition(
    const SessionSetup& setup, const std::filesystem::path& own_plan, bool is_first,
    double seconds);

/// Whether the user said how many steps or epochs there are.
[[nodiscard]] bool is_of_fixed_length(const SessionSetup& setup);

}  // namespace ptbench

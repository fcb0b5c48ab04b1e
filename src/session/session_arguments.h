#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/session/session_setup.h"

namespace ptbench {

// What the processes of a session are told besides what the user said.

inline constexpr std::string_view kTurnsOption = "--turns";

/// Options that only a session hands to a process.
inline constexpr std::array<std::string_view, 7> kSessionOptions{
    "--pass",      "--keep-plan", "--repeats", "--progress-prefix",
    "--launched-", "--output",    kTurnsOption};

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

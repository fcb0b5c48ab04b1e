#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/ranks/rendezvous.h"

namespace ptbench::meeting {

// What both sides of a meeting say where it fails.

/// Rank 0 answers within its own time, which may have begun later.
inline constexpr std::chrono::milliseconds kAnswerGrace{2000};

[[nodiscard]] double seconds_of(std::chrono::milliseconds duration);
/// `doubt`: why, where that is known: ": …".
[[nodiscard]] Error did_not_come(const std::string& who, const MeetingPoint& point,
                                 std::string_view doubt = {});
[[nodiscard]] Error taken(const MeetingPoint& point);
[[nodiscard]] Error refused_by_system(std::string_view what, int error_number);

}  // namespace ptbench::meeting

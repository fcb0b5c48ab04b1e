#pragma once

#include <string>

namespace ptbench {

/// "40 seconds", "2 minutes", "3 hours": a duration as people say it, rounded.
[[nodiscard]] std::string rough_duration(double seconds);

}  // namespace ptbench

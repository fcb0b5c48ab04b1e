#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ptbench::testing {

/// Ends the test as skipped where there is no Chromium.
void require_browser();

/// Opens the page in Chromium without a screen, runs `script`, the body of an asynchronous
/// function, when all charts are drawn, and returns what that returns, with `problems`: errors,
/// what was said on the console, and breaches of the page's policy. `width`: of the page, in its
/// pixels.
[[nodiscard]] nlohmann::json in_browser(const std::string& page, const std::string& script,
                                        int width = 1280);

}  // namespace ptbench::testing

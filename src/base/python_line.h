#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// A command line for a shell that has Python do `code` with `files`. `code` finds the first of
/// them as f, all of them as sys.argv[1:], and the modules os, sys, gzip and np; it has no
/// character that means something between double quotes.
[[nodiscard]] std::string python_line(std::string_view code,
                                      const std::vector<std::filesystem::path>& files);

}  // namespace ptbench

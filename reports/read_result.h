#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "src/measure/record.h"

namespace ptbench {

/// The largest result file that is read, in bytes.
inline constexpr std::uintmax_t kLargestResultFile = 512ULL << 20;

/// What `to_json` wrote, of any schema version so far. Fields that are missing or null are empty;
/// fields that are not known are passed over. `name` is what error messages call it. Usage errors:
/// no JSON (with line and column), no result, a schema that is not known, a field of the wrong
/// type or unit, runs with equal ids. Only one run's JSON is in memory at a time.
[[nodiscard]] ResultFile read_result(std::string_view text, const std::string& name);

/// The result in that file. Usage errors also where it cannot be read or is too large.
[[nodiscard]] ResultFile read_result_file(const std::filesystem::path& path);

}  // namespace ptbench

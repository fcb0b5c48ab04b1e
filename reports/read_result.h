#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/measure/record.h"

namespace ptbench {

/// The largest result file that is read, in bytes.
inline constexpr std::uintmax_t kLargestResultFile = 512ULL << 20;

/// What `to_json` wrote, of any schema version so far. Fields that are missing or null are empty;
/// fields that are not known are passed over. `name` is what error messages call it. Usage errors:
/// no JSON (with line and column), no result, a schema that is not known, a field of the wrong
/// type or unit, runs with equal ids. Only one run's JSON is in memory at a time.
[[nodiscard]] ResultFile read_result(std::string_view text, const std::string& name);

/// The result in that file. Usage errors also where it cannot be read, is too large, or needs more
/// memory than there is.
[[nodiscard]] ResultFile read_result_file(const std::filesystem::path& path);

/// Destroys a document, also where no memory is left.
struct TakeApart {
  void operator()(nlohmann::json* document) const noexcept;
};
using JsonDocument = std::unique_ptr<nlohmann::json, TakeApart>;

/// The JSON of a file that should be a result, whatever it says. Usage errors as those of
/// `read_result`, but only: no JSON, a key that stands twice, and what is nested without end.
[[nodiscard]] JsonDocument read_json(std::string_view text, const std::string& name);

/// The same of a file. Usage errors also as those of `read_result_file`.
[[nodiscard]] JsonDocument read_json_file(const std::filesystem::path& path);

/// The usage error about a result file that needs more memory than there is.
[[nodiscard]] Error out_of_memory(const std::filesystem::path& path);

}  // namespace ptbench

#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/shape.h"

namespace ptbench {

/// The file `name` of `directory`, or else `name`.gz.
[[nodiscard]] std::optional<std::filesystem::path> find_file(const std::filesystem::path& directory,
                                                             const std::string& name);

/// Whether `directory` has any of the files `names`.
[[nodiscard]] bool holds_any(const std::filesystem::path& directory,
                             std::span<const char* const> names);

/// Throws a usage error that names what is missing of the files of `format`.
[[nodiscard]] std::filesystem::path require_file(const std::filesystem::path& directory,
                                                 const std::string& name, std::string_view format);

/// Training and test samples that are not of one shape.
[[nodiscard]] Error different_shapes(const std::filesystem::path& directory, const Shape& train,
                                     const Shape& test);

}  // namespace ptbench

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace ptbench {

/// Indented JSON text for people and programs: arrays of plain values stand on one line, doubles
/// are as short as reads back exactly, strings are valid UTF-8 with every control character
/// escaped. No newline at the end.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

/// A number, or null where it is not known or not finite.
[[nodiscard]] nlohmann::ordered_json json_number(const std::optional<double>& value);

/// A property's name as a part of a JSON pointer (RFC 6901, section 3).
[[nodiscard]] std::string pointer_token(std::string_view name);

}  // namespace ptbench
